import Media
import Testing

@testable import Settings

/// What can be said of masks, and what is a fault.
@Suite struct MaskSettingTests {
    private func fault(_ texts: [String: String]) -> SettingFault? {
        do throws(SettingFault) {
            _ = try StreamValues(texts)
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        "30%x20%+10%+5%:pixelate=16", "0.5%x100%+99.5%+0%:blur=256", "100%x100%+0%+0%:fill=black",
        "20%x20%+70%+70%:fill=#20a0ff,20%x20%+0%+0%:fill=white,1%x1%+0%+0%:pixelate=4",
    ])
    func textsComeBack(text: String) throws {
        let values = try StreamValues(["mask": text])
        #expect(values.texts == ["mask": text])
        #expect(values.settings.steps.holdsBypass && values.settings.steps.active(at: .decoded) == [.deinterlace, .mask])
        #expect(try values.applying(["mask": "off"]) == StreamValues())
    }

    @Test(arguments: [
        ("30%x20%+80%+5%:fill=black", "has an area beyond the picture: 30%x20%+80%+5%"),
        ("30%x20%+0%+80.5%:fill=black", "has an area beyond the picture: 30%x20%+0%+80.5%"),
        ("0%x20%+0%+0%:fill=black", "has an area without width or height: 0%x20%+0%+0%"),
        ("20%x0%+0%+0%:fill=black", "has an area without width or height: 20%x0%+0%+0%"),
        ("20%x20%+0%+0%:twirl=3", "knows pixelate=N, blur=N and fill=COLOUR, not twirl"),
        ("20%x20%+0%+0%:", "knows pixelate=N, blur=N and fill=COLOUR, not "),
        ("20%x20%+0%+0%:pixelate", "takes pixelate=N with N from 4 to 256, not nothing"),
        ("20%x20%+0%+0%:pixelate=3", "takes pixelate=N with N from 4 to 256, not 3"),
        ("20%x20%+0%+0%:blur=99999999999999999999", "takes blur=N with N from 4 to 256, not 99999999999999999999"),
        ("20%x20%+0%+0%:fill=mauve", "takes fill=black, grey, white or as #20a0ff, not mauve"),
        ("20%x20%+0%+0%:fill=#12345", "takes fill=black, grey, white or as #20a0ff, not #12345"),
        (Array(repeating: "1%x1%+0%+0%:fill=black", count: 17).joined(separator: ","), "has at most 16 areas, not 17"),
    ])
    func whatIsWrongIsSaid(text: String, said: String) {
        #expect(fault(["mask": text]) == SettingFault("mask", said))
    }

    @Test(arguments: [
        "30%x20%", "30%x20%+1%+1%", "30x20+1+1:fill=black", "30%x20%+1%:fill=black", ",", "-3%x20%+1%+1%:fill=black",
        "3e1%x20%+1%+1%:fill=black", "nan%x20%+1%+1%:fill=black", "101%x20%+0%+0%:fill=black", "1%x1%+0%+0%:fill=black,",
    ])
    func otherTextsSayWhatIsAllowed(text: String) {
        #expect(fault(["mask": text])?.text.hasPrefix("is up to 16 areas as 30%x20%+10%+5%:pixelate=16") == true)
    }

    /// Pictures that go out as they came have no mask.
    @Test func nothingIsBypassedBesideAMask() throws {
        let mask = "30%x20%+10%+5%:pixelate=16"
        #expect(
            fault(["mask": mask, "mode": "bypass"])
                == SettingFault("mask", "forbids `mode` bypass: bypassed pictures cannot be masked"))
        #expect(fault(["mask": mask, "hdr": "pass"])?.text.hasPrefix("forbids `hdr` pass") == true)
        let masked = try StreamValues(["mask": mask])
        #expect(throws: SettingFault.self) { try masked.applying(["mode": "bypass"]) }
        #expect(throws: SettingFault.self) { try StreamValues(["mode": "bypass"]).applying(["mask": mask]) }
        #expect(try masked.applying(["mask": nil, "mode": "bypass"]).settings.mode == .bypass)
    }

    /// The samples that an area touches, with whole chroma samples, whichever way the picture is turned.
    @Test func areasCoverWhatTheyTouch() throws {
        func region(_ text: String, _ width: Int, _ height: Int, _ orientation: Orientation = .upright) throws -> [Int] {
            let mask = try #require(try PrivacyMask.read(text + ":fill=black")?.get())
            let size = PictureSize(width: width, height: height)
            let (x, y, width, height) = mask.areas[0].region(of: size, turn: PictureTurn(orientation))
            return [x, y, width, height]
        }
        #expect(try region("30%x20%+10%+5%", 1280, 720) == [128, 36, 384, 144])
        #expect(try region("1%x1%+1%+1%", 160, 96) == [0, 0, 4, 2])
        #expect(try region("100%x100%+0%+0%", 17, 33) == [0, 0, 17, 33])
        #expect(try region("0.01%x0.01%+99.99%+99.99%", 17, 33) == [16, 32, 1, 1])
        #expect(try region("10%x10%+0%+0%", 1, 1) == [0, 0, 1, 1])
        // The upper left corner of a picture that is shown a quarter turn anticlockwise is its upper right one.
        #expect(try region("10%x20%+0%+0%", 100, 200, Orientation(rotation: 16384)) == [80, 0, 20, 20])
        #expect(try region("10%x20%+0%+0%", 100, 200, Orientation(rotation: 32768)) == [90, 160, 10, 40])
        #expect(try region("10%x20%+0%+0%", 100, 200, Orientation(isFlippedHorizontally: true)) == [90, 0, 10, 40])
    }
}
