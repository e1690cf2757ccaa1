import Media
import Schedule
import Testing

@testable import Settings

@Suite struct UnitTests {
    @Test func timesNeedAUnit() {
        #expect(TimeText.read("80ms") == .milliseconds(80))
        #expect(TimeText.read("1.5s") == .milliseconds(1500))
        #expect(TimeText.read("200us") == .microseconds(200))
        #expect(TimeText.read("5m") == .seconds(300))
        #expect(TimeText.read("1h") == .seconds(3600))
        for text in ["80", "ms", "", "-1s", "nans", "infs", "1e30s", "80 ms", "4000000000h"] {
            #expect(TimeText.read(text) == nil, "\(text)")
        }
    }

    @Test(arguments: [0, 1, 999, 1_000, 80_000_000, 1_234_567, 1_500_000_000, 5_000_000_000, 315_000_000_000_000_000])
    func timesSurviveBeingWritten(count: Int64) {
        #expect(TimeText.read(TimeText.write(Nanoseconds(count))) == Nanoseconds(count))
    }

    @Test func bitRatesNeedAUnit() {
        #expect(BitRateText.read("2.5M") == 2_500_000)
        // 2.3 * 1e6 is less than 2300000 in a Double.
        #expect(BitRateText.read("2.3M") == 2_300_000)
        #expect(BitRateText.read("800k") == 800_000)
        #expect(BitRateText.read("1G") == 1_000_000_000)
        for text in ["2500000", "M", "", "0k", "-1M", "nanM", "1000G"] { #expect(BitRateText.read(text) == nil, "\(text)") }
    }

    @Test(arguments: [1, 12, 800_000, 999_999, 1_000_000, 2_500_000, 1_234_567, 999_999_999_999])
    func bitRatesSurviveBeingWritten(rate: Int) {
        #expect(BitRateText.read(BitRateText.write(rate)) == rate)
    }

    @Test func bitRatesAreWrittenAsPeopleWriteThem() {
        #expect(BitRateText.write(2_500_000) == "2.5M")
        #expect(BitRateText.write(800_000) == "800k")
    }

    @Test func frameRates() {
        #expect(FrameRateText.read("30") == Rational(30))
        #expect(FrameRateText.read("29.97") == Rational(30_000, 1001))
        #expect(FrameRateText.read("59.94") == Rational(60_000, 1001))
        #expect(FrameRateText.read("30000/1001") == Rational(30_000, 1001))
        #expect(FrameRateText.write(Rational(30_000, 1001)) == "30000/1001")
        for text in ["0", "-5", "1001", "1/0", "0/1", "a", "", "9223372036854775807/9223372036854775806", "200001/100000"] {
            #expect(FrameRateText.read(text) == nil, "\(text)")
        }
    }

    @Test func memory() {
        #expect(MemoryText.read("64MB") == 64_000_000 && MemoryText.read("1.5GB") == 1_500_000_000)
        for bytes in [1_000_000, 64_000_000, 1_234_567, 4_000_000_000] {
            #expect(MemoryText.read(MemoryText.write(bytes)) == bytes)
        }
        for text in ["64", "64M", "MB", "", "-64MB", "nanMB", "infGB", "0MB", "5GB", "64 MB", "0.9MB"] {
            #expect(MemoryText.read(text) == nil, "\(text)")
        }
    }

    @Test func sizes() {
        #expect(SizeText.read("3840x2160") == PictureSize(width: 3840, height: 2160))
        for text in ["3840", "3840x", "15x16", "16x16385", "1x2x3", ""] { #expect(SizeText.read(text) == nil, "\(text)") }
    }
}

@Suite struct StreamKeyTests {
    /// A text for each key that is not the default. Keys of texts have an example.
    static let others = StreamKeys.all.reduce(into: values) { others, key in
        if case .text(let example) = key.kind { others[key.name] = example }
    }

    private static let values = [
        "scale": "1", "size": "854x480", "mode": "bypass", "keep-size": "true", "tier": "neural-s", "content": "calls",
        "sharpness": "0.25",
        "denoise": "auto", "hdr": "pass", "hdr-peak": "4000",
        "brightness": "0.25", "contrast": "1.5", "saturation": "0.5", "gamma": "1.25", "warmth": "-0.5",
        "max-size": "1920x1080",
        "deinterlace": "fields",
        "interpolate": "2",
        "fps": "30000/1001", "hold": "1500ms", "keep-output": "false", "lookahead": "0", "budget": "120ms", "caution": "2.5",
        "pacing": "paced", "past": "20s",
        "bitrate": "2.5M", "bits": "1.25x", "bitrate-floor": "1M", "codec": "hevc", "preset": "veryfast", "threads": "4",
        "decode-threads": "3",
        "encode-threads": "5", "reactions": "on", "record-every": "90m",
    ]

    @Test func theTestKnowsEveryKey() {
        #expect(Set(Self.others.keys) == Set(StreamKeys.all.map(\.name)))
        #expect(Set(StreamKeys.all.map(\.name)).count == StreamKeys.all.count)
    }

    @Test(arguments: StreamKeys.all.map(\.name)) func aKeyReadsWhatItWrites(name: String) throws {
        let key = try #require(StreamKeys.named(name))
        let text = try #require(Self.others[name])
        var values = StreamValues()
        try key.read(key.defaultText, &values)
        #expect(values == StreamValues())
        try key.read(text, &values)
        #expect(key.write(values) == text)
        #expect(key.fault(in: values) == nil)
        // What may change while a stream runs is what the stages read for each frame.
        #expect((values.options == StreamOptions()) == (key.change == .live))
        #expect((values.settings == StreamSettings()) == (key.change == .restart))
        key.reset(&values)
        #expect(values == StreamValues())
    }

    @Test(arguments: StreamKeys.all.map(\.name)) func aBadValueSaysWhatIsAllowed(name: String) throws {
        let key = try #require(StreamKeys.named(name))
        for text in ["", "x\ny", "-2", "1e99", String(repeating: "9", count: 1000)] {
            var values = StreamValues()
            let fault = #expect(throws: SettingFault.self) { try key.read(text, &values) }
            #expect(values == StreamValues())
            #expect(fault?.key == name)
            #expect(fault?.text.hasPrefix("is \(key.allowed)") == true)
            #expect(fault?.text.contains("\n") == false && fault?.text.utf8.count ?? 999 < 200)
        }
    }

    @Test func autoIsTheBestTier() throws {
        #expect(try StreamValues(["tier": "auto"]).settings.tier == .neuralM)
        #expect(try StreamValues(["tier": "quality"]).settings.tier == .quality)
        #expect(try StreamValues(["bitrate": "auto", "fps": "input"]) == StreamValues())
    }

    @Test func everyKeyHasItsHelp() {
        for key in StreamKeys.all {
            #expect(key.help.hasSuffix(".") && !key.help.contains("\n"), "\(key.name)")
            // Keys that it names exist.
            for (index, part) in key.help.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            where index % 2 == 1 {
                #expect(StreamKeys.named(String(part)) != nil, "\(key.name): \(part)")
            }
        }
    }
}

@Suite struct StreamValuesTests {
    @Test func textsHoldOnlyWhatDiffersAndComeBack() throws {
        #expect(StreamValues().texts.isEmpty)
        for without in [["interpolate", "keep-size", "mask", "size"], ["fps", "hdr", "mode", "scale"]] {
            let texts = StreamKeyTests.others.filter { !without.contains($0.key) }
            let values = try StreamValues(texts)
            #expect(values.texts == texts)
            #expect(try StreamValues(values.allTexts) == values)
        }
    }

    @Test func unknownKeysAreFaultsWithASuggestion() {
        #expect(fault { try StreamValues(["teir": "auto"]) } == SettingFault("teir", "is no key here; did you mean tier?"))
        #expect(
            fault { try StreamValues().applying(["bit_rate": nil]) }
                == SettingFault("bit_rate", "is no key here; did you mean bitrate?"))
        #expect(fault { try StreamValues(["xyz": "1"]) }?.text.hasPrefix("is no key here; known are scale, ") == true)
    }

    @Test func aRateAndAFactorContradictEachOther() {
        let fault = fault { try StreamValues().applying(["fps": "60", "interpolate": "2"]) }
        #expect(fault?.key == "fps" && fault?.text.hasSuffix("give one") == true)
        #expect(self.fault { try StreamValues(["fps": "60", "interpolate": "2"]) } == fault)
    }

    @Test func anOutputThatKeepsItsSizeIsNotBypassed() {
        #expect(fault { try StreamValues(["keep-size": "true", "mode": "bypass"]) }?.key == "keep-size")
        #expect((try? StreamValues(["keep-size": "true"])) != nil)
    }

    @Test(arguments: [
        ("scale", "2.5"), ("scale", "0"), ("size", "641x360"), ("size", "640x0"), ("size", "16384x16384"), ("size", "14x16"),
    ])
    func aSizeThatCannotBeMadeIsAFault(key: String, text: String) {
        let fault = fault { try StreamValues([key: text]) }
        #expect(fault?.key == key && fault?.text.hasSuffix("not \(text)") == true, "\(fault?.text ?? "")")
    }

    @Test func aSizeAndAScaleContradictEachOther() throws {
        #expect(fault { try StreamValues(["size": "1280x720", "scale": "1"]) }?.key == "size")
        #expect(fault { try StreamValues().applying(["size": "1280x720", "scale": "2"]) }?.key == "size")
        #expect(fault { try StreamValues(["scale": "fit", "keep-size": "true"]) }?.key == "keep-size")
        #expect(
            try StreamValues(["size": "1280x720"]).options.output(for: PictureSize(width: 640, height: 360))
                == .exactly(PictureSize(width: 1280, height: 720)))
    }

    @Test func anOutputIsNeverLargerThanAllowed() {
        var options = StreamOptions()
        let input = PictureSize(width: 2560, height: 1440)
        #expect(options.output(for: input) == .oneAndHalf, "3840x2160 is the largest")
        options.scale = .triple
        #expect(options.output(for: PictureSize(width: 720, height: 1280)) == .triple, "a portrait")
        options.largestOutput = PictureSize(width: 16_384, height: 16_384)
        #expect(options.output(for: PictureSize(width: 3840, height: 2160)) == .double, "H.264 has no larger pictures")
        options.largestOutput = PictureSize(width: 320, height: 200)
        #expect(options.output(for: input) == .same)
    }

    @Test func whatHasNoEffectIsAFaultOnlyWhereItIsGiven() throws {
        #expect(fault { try StreamValues().applying(["hold": "1s", "keep-output": "false"]) }?.key == "hold")
        #expect(try StreamValues().applying(["hold": "1s"]).options.hold == .seconds(1))
        #expect(fault { try StreamValues().applying(["lookahead": "0"]) }?.key == "lookahead")
        #expect(fault { try StreamValues().applying(["fps": "50", "interpolate": "1"]) }?.key == "fps")
        let smooth = try StreamValues().applying(["lookahead": "0", "interpolate": "2"])
        let plain = try smooth.applying(["interpolate": nil])
        #expect(plain.options.lookahead == 0)
        // A worker is told what `texts` says.
        #expect(try StreamValues(plain.texts) == plain)
    }

    @Test func aChangeReturnsToTheDefault() throws {
        let values = try StreamValues(["budget": "120ms", "scale": "1"])
        #expect(try values.applying(["budget": nil]).texts == ["scale": "1"])
    }

    @Test func aDifferenceSaysWhatARunningStreamCanTake() throws {
        let old = try StreamValues(["budget": "120ms", "tier": "base", "threads": "4"])
        let new = try StreamValues(["tier": "neural-s", "threads": "4"])
        let difference = old.difference(to: new)
        #expect(difference.live == ["budget": nil, "tier": "neural-s"])
        #expect(!difference.needsRestart && !difference.isEmpty)
        #expect(try old.applying(difference.live) == new)
        #expect(old.difference(to: try StreamValues(["fps": "60"])).restart == ["fps", "threads"])
        #expect(old.difference(to: old).isEmpty)
    }

    private func fault(_ body: () throws -> StreamValues) -> SettingFault? {
        #expect(throws: SettingFault.self) { try body() }
    }
}
