import Bitstream
import Codec
import Foundation
import Media
import Overlays
import Testing

@Suite struct OverlayLoadingTests {
    /// Two samples: opaque red and half a blue.
    static let png: [UInt8] = Array(
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAADklEQVR4nGP4z8AAQg0AD3oDfnfpf5cAAAAASUVORK5CYII=")!)

    private func settings(_ overlay: String) throws -> StepSettings {
        var settings = StepSettings()
        settings.overlay = try #require(Overlay.read(overlay)).get()
        return settings
    }

    @Test func anImageIsReadWithItsOpacity() throws {
        var steps = try settings("+0%+0%:image=/a.png")
        try steps.readFiles(stream: "cam") { path, _ throws(SmallFile.Fault) in
            #expect(path == "/a.png")
            return Self.png
        }
        let image = try #require(steps.overlay?.material?.images["/a.png"])
        #expect(image.size == PictureSize(width: 2, height: 1))
        #expect(image.samples == [255, 0, 0, 255, 0, 0, 255, 128])
        #expect(!steps.isNeutral(.overlay))
    }

    @Test func aFontDrawsWhatItHas() throws {
        let font = try Font(try SmallFile.read(path: Overlay.usualFont, most: Font.largestFile))
        let set = font.glyphs(of: [UInt32(ascii: "H"), UInt32(ascii: " "), 0x10FFFF], height: 40, shape: 1)
        let letter = try #require(set.glyphs[UInt32(ascii: "H")])
        #expect((28...34).contains(set.ascent) && (20...30).contains(letter.top) && letter.height == letter.top)
        #expect(letter.width > 10 && letter.advance >= letter.width)
        let narrow = try #require(font.glyphs(of: [UInt32(ascii: "H")], height: 40, shape: 2).glyphs[UInt32(ascii: "H")])
        #expect(narrow.height == letter.height && abs(2 * narrow.width - letter.width) <= 2)
        let covered = set.coverage[letter.start..<letter.start + letter.width * letter.height]
        #expect(covered.contains(255) && covered.contains(0))
        #expect(set.glyphs[UInt32(ascii: " ")]?.width == 0)
        // The sign for a letter that it lacks.
        #expect(set.glyphs[0x10FFFF]?.width ?? 0 > 0)
    }

    @Test func filesThatAreNoneAreNamed() throws {
        var steps = try settings("+0%+0%:image=/a.png;+0%+0%:text=a")
        steps.overlayFont = "/f.ttf"
        func fault(_ png: [UInt8], _ font: [UInt8]) -> FileSettingFault? {
            var copy = steps
            do throws(FileSettingFault) {
                try copy.readFiles(stream: "") { path, _ throws(SmallFile.Fault) in path == "/a.png" ? png : font }
                return nil
            } catch { return error }
        }
        #expect(fault(Array("GIF89a".utf8), []) == FileSettingFault(key: "overlay", text: "/a.png: is no PNG file"))
        #expect(fault(Array(Self.png.dropLast(14)), []) == FileSettingFault(key: "overlay", text: "/a.png: is cut off"))
        #expect(
            fault(Self.png, Array("no font".utf8))
                == FileSettingFault(key: "overlay-font", text: "/f.ttf: is no font with outlines: give a .ttf or .otf file"))
        var damaged = Self.png
        damaged[45] ^= 255
        #expect(fault(damaged, [])?.text.hasPrefix("/a.png: cannot be decoded") == true)
        // A picture of 64 million samples in a few bytes.
        var bomb = Self.png
        bomb.replaceSubrange(16..<24, with: [0, 0, 0x20, 0, 0, 0, 0x20, 0])
        #expect(fault(bomb, [])?.text == "/a.png: is 8192x8192, and may be 8192 wide or high and have 16 million samples")
    }

    @Test func onlyPartsOfThePictureAreKept() throws {
        var file = Self.png
        // A text that grows when it is unpacked would stand here.
        let text: [UInt8] = [0, 0, 0, 2] + Array("zTXt".utf8) + [1, 2] + [0, 0, 0, 0]
        file.insert(contentsOf: text, at: 33)
        #expect(try PNGChunks(file).bytes == Self.png)
        #expect(try PNGDecoder.decode(PNGChunks(file)).samples.count == 8)
        #expect(throws: PNGFault.self) { try PNGChunks(Array(Self.png.prefix(8)) + text) }
    }
}

extension UInt32 {
    fileprivate init(ascii: Unicode.Scalar) { self = ascii.value }
}
