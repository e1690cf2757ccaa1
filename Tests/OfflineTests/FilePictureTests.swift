import Codec
import Enhance
import EnhanceNetworks
import Foundation
import Media
import Telemetry
import TestStreams
import Testing
@testable import Offline

/// `burnish enhance` on pictures and on files that were cut off, its comparison and its progress.
@Suite(.timeLimit(.minutes(10))) struct FilePictureTests {
    private func pictures(_ path: String) throws -> [Picture] {
        let reader = try FileReader(path: path)
        var pictures: [Picture] = []
        while let item = try reader.next() {
            guard case .picture(let picture, _) = consume item else { continue }
            let copy = Picture(size: picture.size)
            Self.copy(picture.view, into: copy.mutableView)
            pictures.append(copy)
        }
        return pictures
    }

    private static func copy(_ from: PictureView, into to: MutablePictureView) {
        for (from, to) in [(from.y, to.y), (from.u, to.u), (from.v, to.v)] {
            for y in 0..<from.height { to.row(y).update(from: from.row(y), count: from.width) }
        }
    }

    /// The mean difference of luma in some columns.
    private func difference(_ a: Picture, _ b: Picture, columns: Range<Int>) -> Double {
        var sum = 0
        for y in 0..<a.size.height {
            for x in columns { sum += abs(Int(a.view.y.row(y)[x]) - Int(b.view.y.row(y)[x])) }
        }
        return Double(sum) / Double(columns.count * a.size.height)
    }

    /// The largest difference of any sample.
    private func difference(_ a: PictureView, _ b: PictureView) -> Int {
        var largest = 0
        for (a, b) in [(a.y, b.y), (a.u, b.u), (a.v, b.v)] {
            for y in 0..<a.height { for x in 0..<a.width { largest = max(largest, abs(Int(a.row(y)[x]) - Int(b.row(y)[x]))) } }
        }
        return largest
    }

    private func enhance(
        _ input: String, _ output: String, _ change: (inout FileEnhancement) -> Void = { _ in }
    ) throws -> FileEnhancementReport {
        var work = FileEnhancement(input: input, output: output)
        (work.tier, work.size) = (.base, .same)
        change(&work)
        return try work.run { _, _ in true }
    }

    /// Pictures that leave less than twice as large are doubled and refined, and then made smaller.
    @Test func networksRefineWhatLeavesALittleLarger() throws {
        let scratch = try Scratch()
        let (size, larger) = (PictureSize(width: 160, height: 96), PictureSize(width: 240, height: 144))
        let writer = try MediaFileWriter(
            path: scratch.path("in.y4m"), video: FileVideo(size: size, frameRate: Rational(25)), settings: .init())
        let picture = Picture(size: size)
        let view = picture.mutableView
        for plane in [view.u, view.v] { for y in 0..<plane.height { plane.row(y).update(repeating: 120, count: plane.width) } }
        for y in 0..<size.height { for x in 0..<size.width { view.y.row(y)[x] = UInt8(60 + (x / 5 ^ y / 3) % 9 * 7) } }
        for index in 0..<2 { try writer.write(picture.view, at: Int64(index)) }
        try writer.finish()
        for (tier, scale) in [(SuperResolutionTier.base, 1), (.neuralSmall, 2)] {
            let output = scratch.path("\(tier.name).y4m")
            let report = try enhance(scratch.path("in.y4m"), output) { ($0.tier, $0.size) = (tier, .oneAndHalf) }
            var configuration = SuperResolutionConfiguration(size: size)
            (configuration.scaleFactor, configuration.outputSize) = (scale, larger)
            if scale == 2 { configuration.useShippedNetworks() }
            let session = try SuperResolutionSession(configuration)
            #expect(report.tilesComputed == (scale == 2 ? session.grid.count : 0), "the second picture is the first one")
            let expected = Picture(size: larger)
            _ = try session.process(picture.view, into: expected.mutableView, tier: tier)
            let reader = try FileReader(path: output)
            var pictures = 0
            while case .picture(let made, _)? = try reader.next() {
                pictures += 1
                #expect(made.view.size == larger && difference(made.view, expected.view) == 0)
            }
            #expect(pictures == 2)
        }
    }

    /// Networks are told how coarsely a file's pictures were coded: the result is theirs for just that.
    @Test(arguments: [10.0, 40]) func networksAreToldTheQuantisersOfFiles(quality: Double) throws {
        let scratch = try Scratch()
        let size = PictureSize(width: 160, height: 96)
        var settings = MediaFileWriter.Settings()
        settings.quality = quality
        let writer = try MediaFileWriter(
            path: scratch.path("in.mp4"), video: FileVideo(size: size, frameRate: Rational(25)), settings: settings)
        let picture = Picture(size: size)
        let view = picture.mutableView
        for plane in [view.u, view.v] { for y in 0..<plane.height { plane.row(y).update(repeating: 120, count: plane.width) } }
        for index in 0..<3 {
            for y in 0..<size.height {
                for x in 0..<size.width { view.y.row(y)[x] = UInt8(60 + x / 2 + ((x + index) / 5 ^ y / 3) % 9 * 7) }
            }
            try writer.write(picture.view, at: Int64(index))
        }
        try writer.finish()
        _ = try enhance(scratch.path("in.mp4"), scratch.path("out.y4m")) { ($0.tier, $0.size) = (.neuralMedium, .double) }

        let results = try pictures(scratch.path("out.y4m"))
        var configuration = SuperResolutionConfiguration(size: size)
        configuration.useShippedNetworks()
        let informed = try SuperResolutionSession(configuration)
        let clean = try SuperResolutionSession(configuration)
        let expected = Picture(size: informed.outputSize)
        let reader = try FileReader(path: scratch.path("in.mp4"), exportsQuantisers: true)
        while case .picture(let picture, _)? = try reader.next() {
            let told = picture.meanQuantiser
            let quantiser = try #require(told)
            let result = results[Int(picture.id)]
            _ = try informed.process(
                picture.view, into: expected.mutableView, tier: .neuralMedium,
                SuperResolutionParameters(quantiser: Int(quantiser.rounded()), chromaLocation: picture.color.chromaLocation))
            #expect(difference(result, expected, columns: 0..<320) == 0)
            _ = try clean.process(picture.view, into: expected.mutableView, tier: .neuralMedium)
            #expect(difference(result, expected, columns: 0..<320) > 0)
        }
        #expect(results.count == 3)
    }

    /// Each content has weights of its own.
    @Test func contentChoosesTheNetworks() throws {
        let scratch = try Scratch()
        _ = try scratch.write(try TestStream.video(frames: 2), to: "in.ts")
        func enhanced(_ content: NetworkContent, _ tier: SuperResolutionTier) throws -> [UInt8] {
            _ = try enhance(scratch.path("in.ts"), scratch.path("out.y4m")) {
                ($0.tier, $0.size, $0.content) = (tier, .double, content)
            }
            return Array(try scratch.read("out.y4m"))
        }
        #expect(try enhanced(.calls, .neuralMedium) != enhanced(.general, .neuralMedium))
        #expect(try enhanced(.calls, .neuralSmall) != enhanced(.general, .neuralSmall))
        #expect(try enhanced(.calls, .quality) != enhanced(.general, .quality))
        #expect(try enhanced(.general, .quality) != enhanced(.general, .neuralMedium))
    }

    /// A picture goes through every kind of file and stays nearly what it was; odd sides stay odd.
    @Test(arguments: ["png", "jpg", "JPEG"], [PictureSize(width: 160, height: 96), PictureSize(width: 75, height: 51)])
    func picturesAreReadAndWritten(kind: String, size: PictureSize) throws {
        let scratch = try Scratch()
        let first = Picture(size: size)
        let view = first.mutableView
        for y in 0..<size.height { for x in 0..<size.width { view.y.row(y)[x] = UInt8(40 + (x * 2 + y) % 160) } }
        for plane in [view.u, view.v] { for y in 0..<plane.height { plane.row(y).update(repeating: 120, count: plane.width) } }
        let writer = try MediaFileWriter(path: scratch.path("in.y4m"), video: FileVideo(size: size, frameRate: Rational(25)))
        try writer.write(first.view, at: 0)
        try writer.finish()
        #expect(try enhance(scratch.path("in.y4m"), scratch.path("one.\(kind)")).picturesOut == 1)
        let report = try enhance(scratch.path("one.\(kind)"), scratch.path("two.\(kind)")) { $0.size = .double }
        #expect(report.picturesIn == 1 && report.picturesOut == 1 && !report.isCutOff)
        let (one, two) = (try pictures(scratch.path("one.\(kind)")), try pictures(scratch.path("two.\(kind)")))
        #expect(one.count == 1 && one[0].size == size)
        #expect(two.count == 1 && two[0].size == size.scaled(by: 2))
        // JPEG has full range: compare what a second pass reads with what the first wrote.
        if kind == "png" { #expect(difference(one[0], first, columns: 0..<size.width) < 2) }
        let bytes = try scratch.read("one.\(kind)")
        #expect(Array(bytes.prefix(2)) == (kind == "png" ? [0x89, 0x50] : [0xff, 0xd8]))
    }

    @Test func aPictureFileHoldsOnePicture() throws {
        let scratch = try Scratch()
        let input = try scratch.write(try TestStream.video(frames: 3), to: "in.ts")
        let failure = #expect(throws: FileEnhancementError.self) { _ = try enhance(input, scratch.path("out.png")) }
        #expect("\(String(describing: failure))".contains(".mp4"))
        #expect(try pictures(scratch.path("out.png")).count == 1)
    }

    /// What came of a file is written, and the report says that something is missing.
    @Test(arguments: ["mkv", "ts", "y4m"]) func aFileThatWasCutOffSaysSo(kind: String) throws {
        let scratch = try Scratch()
        let stream = try scratch.write(try TestStream.video(frames: 120), to: "in.ts")
        let whole = scratch.path("whole.\(kind)")
        #expect(try !enhance(stream, whole).isCutOff)
        let report = try enhance(whole, scratch.path("all.y4m"))
        #expect(report.picturesIn == 120 && !report.isCutOff)
        let bytes = try scratch.read("whole.\(kind)")
        // In the middle of a packet.
        let cut = bytes.count / 2 / 188 * 188 + 101
        let part = try scratch.write(Array(bytes.prefix(cut)), to: "part.\(kind)")
        let partly = try enhance(part, scratch.path("some.y4m"))
        #expect(partly.isCutOff)
        #expect((40...80).contains(partly.picturesOut), "\(partly.picturesOut)")
        #expect(try pictures(scratch.path("some.y4m")).count == partly.picturesOut)
    }

    /// Left of the line as it came, right of it enhanced. Synthesised frames have the real one before them to the left.
    @Test(arguments: [1, 2]) func bothAreShownSideBySide(interpolate: Int) throws {
        let scratch = try Scratch()
        let input = try scratch.write(try TestStream.video(frames: 6), to: "in.ts")
        func run(_ name: String, _ comparison: FileEnhancement.Comparison?) throws -> [Picture] {
            let report = try enhance(input, scratch.path(name)) {
                ($0.size, $0.steps.sharpness, $0.interpolate, $0.comparison) = (.double, 1, interpolate, comparison)
            }
            #expect((report.totals.compare > 0) == (comparison != nil) && report.totals.encode > 0)
            return try pictures(scratch.path(name))
        }
        let (plain, split) = (try run("plain.y4m", nil), try run("split.y4m", .split))
        let wipe = try run("wipe.y4m", .wipe)
        #expect(plain.count == split.count && plain.count == wipe.count && plain.count == 5 * interpolate + 1)
        for index in plain.indices {
            let (whole, both) = (plain[index], split[index])
            #expect(difference(whole, both, columns: 162..<320) == 0)
            #expect(difference(whole, both, columns: 0..<160) > 0.2)
            #expect(both.view.y.row(7)[160] == 235 && both.view.y.row(7)[161] == 235)
            if interpolate == 2, index % 2 == 1 {
                #expect(difference(both, split[index - 1], columns: 0..<160) == 0, "picture \(index)")
            }
        }
        #expect(difference(wipe[0], split[0], columns: 0..<320) == 0)
        #expect(difference(wipe[5], split[5], columns: 0..<320) > 0)
    }

    @Test func theLineOfAWipeReachesBothSides() {
        let columns = (0..<80).map { SideBySide.lineColumn(.wipe, at: Double($0) / 10, width: 641) }
        #expect(columns[0] == 320 && columns.max()! >= 630 && columns.min()! <= 10)
        #expect(columns.allSatisfy { $0 % 2 == 0 && (0...641).contains($0) })
        #expect(SideBySide.lineColumn(.wipe, at: -3, width: 640) >= 0)
        #expect(SideBySide.lineColumn(.split, at: 3, width: 1) == 0)
    }

    @Test func progressSaysHowLongItWillTake() {
        let start = MonotonicTime(nanoseconds: 5_000_000_000)
        let progress = FileProgress(since: start)
        func text(_ done: Int, _ all: Int?, _ seconds: Double) -> String {
            progress.text(done, of: all, at: start + .seconds(seconds))
        }
        #expect(text(250, 1000, 20) == "250 of 1000 pictures (25 %), 12.5 a second, 1:00 left")
        #expect(text(1, 20_000, 1) == "1 of 20000 pictures (0 %), 1.0 a second, 5:33:19 left")
        #expect(text(40, nil, 2) == "40 pictures, 20.0 a second")
        // More than the file says, and no time at all.
        #expect(text(30, 20, 1) == "30 of 30 pictures (100 %), 30.0 a second, 0:00 left")
        #expect(text(0, 20, 0) == "0 of 20 pictures (0 %), 0.0 a second")
        #expect(text(900, 1000, 1) == "900 of 1000 pictures (90 %), 900 a second, 0:01 left")
    }
}
