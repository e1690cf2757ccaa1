import Media
import Settings
import Testing

@Suite struct OverlaySettingTests {
    @Test(arguments: [
        "-2%+3%:image=/srv/logo.png", "+2%-2%:text=%H:%M:%S {stream}",
        "-2%+3%:size=8%:opacity=0.7:from=5s:until=20s:image=/srv/a:b;c.png".replacing(";", with: "\\;"),
        "+0%+0%:color=#20a0ff:box=0:text=50 %% {{ok}} a\\;b;+50.5%+0%:image=logo.PNG",
    ])
    func textSurvives(text: String) throws {
        let values = try StreamValues(["overlay": text])
        #expect(values.texts == ["overlay": text])
        #expect(values.settings.steps.overlay?.items.isEmpty == false)
        // Nothing is shown before files have been read.
        #expect(values.settings.steps.isNeutral(.overlay))
        #expect(try values.applying(["overlay": "off"]) == StreamValues())
    }

    @Test func itemsSayWhatTheyAre() throws {
        let overlay = try #require(
            StreamValues(["overlay": "-2%+3%:from=1.5s:image=/a.png;+0%-10%:size=8%:box=1:text=a\\\\b"]).settings.steps.overlay)
        var logo = Overlay.Item(x: .init(2, isFromEnd: true), y: .init(3), .image("/a.png"))
        logo.from = 1.5
        var line = Overlay.Item(x: .init(0), y: .init(10, isFromEnd: true), size: 8, .text(try OverlayText("a\\b")))
        line.box = 1
        #expect(overlay.items == [logo, line])
        #expect(logo.size == 10 && overlay.images == ["/a.png"] && overlay.hasText)
        #expect(!logo.isShown(at: 1.4) && logo.isShown(at: 1.5))
    }

    @Test func filesThatAreNamedAreKnown() throws {
        let values = try StreamValues([
            "lut": "/a.cube", "overlay": "+0%+0%:image=/b.png;+9%+0%:image=/b.png;+0%+9%:text=a", "overlay-font": "/c.ttf",
        ])
        #expect(values.files.map(\.path) == ["/a.cube", "/b.png", "/c.ttf"])
        #expect(values.files.map(\.key) == ["lut", "overlay", "overlay-font"])
        #expect(try StreamValues(["overlay-font": "/c.ttf"]).files.isEmpty)
    }

    @Test(arguments: [
        ("+2%+3%:", "has an item without image=PATH or text=TEXT at its end"),
        ("+2%+3%:size=8%", "has an item without image=PATH or text=TEXT at its end"),
        ("+2%+3%:image=/a.jpg", "takes image=PATH of a .png file"),
        ("+2%+3%:size=0%:image=/a.png", "takes size=1% to size=100% of the picture's height, not size=0%"),
        ("+2%+3%:opacity=2:image=/a.png", "takes opacity=0 to opacity=1, not opacity=2"),
        ("+2%+3%:from=5:text=a", "takes from=5s, with a time from 0s to 86400s, not from=5"),
        ("+2%+3%:from=5s:until=5s:text=a", "takes an until= that is later than from="),
        ("+2%+3%:colour=red:text=a", "knows size, opacity, from, until, color, box, image and text, not colour"),
        ("+2%+3%:text=", "takes text of 1 to 200 characters"),
        ("+2%+3%:text=100%", "takes %% for a percent sign"),
        ("+2%+3%:text=%n", "knows no %n: it takes strftime's %H, %M, %S, %d, %m, %Y …, and %% for a percent sign"),
        ("+2%+3%:text={name}", "knows {stream}, {latency}, {frame}, {timecode}, {ms}, not {name"),
        ("+2%+3%:text=a}", "takes }} for a closing brace"),
        (Array(repeating: "+0%+0%:text=a", count: 9).joined(separator: ";"), "has at most 8 items, not 9"),
    ])
    func faultsSayWhatToDo(text: String, said: String) {
        #expect(throws: SettingFault("overlay", said)) { try StreamValues(["overlay": text]) }
    }

    @Test(arguments: ["", "logo.png", "2%+3%:text=a", "+2%:text=a", "+200%+0%:text=a", "+1e1%+0%:text=a", "+0%+0%:text=a\nb"])
    func otherFormsAreRefused(text: String) {
        #expect(throws: SettingFault.self) { try StreamValues(["overlay": text]) }
    }
}
