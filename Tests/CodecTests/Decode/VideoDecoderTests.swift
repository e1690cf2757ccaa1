import Foundation
import Media
import TestSupport
import Testing

@testable import Codec

@Suite struct VideoDecoderTests {
    private func configuration(_ width: Int = 320, _ height: Int = 192) -> VideoEncoderConfiguration {
        VideoEncoderConfiguration(size: PictureSize(width: width, height: height), frameRate: Rational(30))
    }

    /// An x264 stream with B-frames, or whatever else the options say, from the command-line program.
    private func stream(_ options: [String], frames: Int = 60) throws -> [[UInt8]] {
        let folder = try TemporaryFolder()
        let file = folder.file("a.h264")
        let made = try runTool(
            [
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x192:rate=30", "-frames:v", "\(frames)",
                "-c:v", "libx264",
            ] + options + ["-bsf:v", "h264_metadata=aud=insert", "-f", "h264", file.path])
        #expect(made.status == 0, "\(made.errors)")
        return splitAtDelimiters([UInt8](try Data(contentsOf: file)))
    }

    @Test func everyPictureComesOutAtOnce() throws {
        let units = try encodeUnits(configuration(), count: 40, keyframeEvery: 20)
        #expect(units.map(\.id) == (0..<40).map { $0 * 7 + 1 })
        #expect(units.filter(\.isKeyframe).map(\.id) == [1, 141])
        let outputs = try VideoDecoder().decodeAll(units.map(\.bytes))
        #expect(outputs.map(\.id) == Array(0..<40))
        #expect(outputs.map(\.after) == Array(1...40))
        #expect(outputs.allSatisfy { $0.fault == nil && $0.damage == [] })
        #expect(outputs.filter(\.isKeyframe).map(\.id) == [0, 20])
    }

    @Test(arguments: [
        ["-bf", "2"], ["-bf", "3", "-b_strategy", "0"], ["-bf", "3", "-x264-params", "open-gop=1:keyint=20"],
    ])
    func picturesWithReorderingComeOutInOrder(_ options: [String]) throws {
        let units = try stream(["-preset", "medium"] + options)
        #expect(units.count == 60)
        let outputs = try VideoDecoder().decodeAll(units)
        #expect(outputs.count == 60)
        #expect(outputs.allSatisfy { $0.fault == nil && $0.damage == [] })
        #expect(Set(outputs.map(\.id)).count == 60)
        #expect(outputs.map(\.id) != outputs.map(\.id).sorted())
        // Display order, as libavformat and libavcodec have it with all the time in the world.
        let folder = try TemporaryFolder()
        let file = folder.file("a.h264")
        try Data(units.joined()).write(to: file)
        let reader = try FileReader(path: file.path)
        var hashes: [UInt64] = []
        while let item = try reader.next() {
            if case .picture(let picture, _) = consume item { hashes.append(lumaHash(picture.view)) }
        }
        #expect(outputs.map(\.hash) == hashes)
        let held = outputs.enumerated().map { $1.after - $0 }.max() ?? 0
        #expect(held <= 4, "pictures are held back longer than the stream's own reordering")
    }

    @Test(arguments: [["-bf", "3"], ["-bf", "0"]])
    func aStreamWithoutReorderInformationLosesAtMostItsFirstPictures(_ options: [String]) throws {
        let units = try stream(["-preset", "medium"] + options).map(withoutVUI)
        let outputs = try VideoDecoder().decodeAll(units)
        #expect(outputs.count == 60)
        let lost = outputs.filter { $0.fault != nil }
        if options == ["-bf", "0"] {
            #expect(lost.isEmpty)
            #expect(outputs.map(\.after) == Array(1...60))
        } else {
            #expect(lost.count <= 5)
        }
    }

    @Test func colourAspectAndSizeComeThrough() throws {
        var configuration = self.configuration(176, 320)
        configuration.color.primaries = 5
        configuration.color.transfer = 6
        configuration.color.matrix = 5
        configuration.color.range = .full
        configuration.color.chromaLocation = 3
        configuration.color.sampleAspectRatio = Rational(4, 3)
        let units = try encodeUnits(configuration, count: 2)
        let outputs = try VideoDecoder().decodeAll(units.map(\.bytes))
        #expect(outputs.allSatisfy { $0.color == configuration.color && $0.size == configuration.size })
    }

    @Test func unitsBeforeTheFirstKeyframeAreReported() throws {
        let units = try encodeUnits(configuration(), count: 30, keyframeEvery: 10)
        let outputs = try VideoDecoder().decodeAll(units.dropFirst(4).map(\.bytes))
        #expect(outputs.count == 26)
        #expect(outputs.prefix(6).allSatisfy { $0.fault == .awaitingKeyframe })
        #expect(outputs.dropFirst(6).allSatisfy { $0.fault == nil && $0.damage == [] })
    }

    @Test func aLostUnitTaintsPicturesUntilTheNextKeyframe() throws {
        var units = try encodeUnits(configuration(), count: 30, keyframeEvery: 10).map(\.bytes)
        units.remove(at: 13)
        let outputs = try VideoDecoder().decodeAll(units) { $0 == 13 ? .followsGap : [] }
        #expect(outputs.allSatisfy { $0.fault == nil })
        #expect(outputs.filter { $0.damage.contains(.reference) }.map(\.id) == Array(13..<19))
    }

    @Test func aLossThatNobodyReportedIsNoticed() throws {
        var units = try encodeUnits(configuration(), count: 30, keyframeEvery: 10).map(\.bytes)
        units.remove(at: 13)
        let outputs = try VideoDecoder().decodeAll(units)
        #expect(outputs.filter { $0.damage.contains(.reference) }.map(\.id) == Array(13..<19))
    }

    @Test func gradualRefreshEndsDamage() throws {
        var units = try stream(["-bf", "0", "-x264-params", "intra-refresh=1:keyint=20:scenecut=0"], frames: 90)
        units.remove(at: 45)
        let outputs = try VideoDecoder().decodeAll(units) { $0 == 45 ? .followsGap : [] }
        let damaged = outputs.filter { $0.damage.contains(.reference) }.map(\.id)
        #expect(damaged.first == 45 && damaged.count >= 15 && damaged.count < 42)
        #expect(damaged == Array(45..<(45 + Int64(damaged.count))))
    }

    @Test func interlacedPicturesAreWoven() throws {
        let units = try stream(["-bf", "0", "-flags", "+ilme+ildct", "-x264-params", "tff=1"], frames: 10)
        let outputs = try VideoDecoder().decodeAll(units)
        #expect(outputs.map(\.id) == Array(0..<10))
        #expect(outputs.allSatisfy { $0.fault == nil && $0.damage == [] })
    }

    @Test func aSenderRestartedWithoutReorderingIsNotHeldBack() throws {
        let before = try stream(["-bf", "3", "-b_strategy", "0"], frames: 20)
        let after = try encodeUnits(configuration(), count: 10).map(\.bytes)
        let outputs = try VideoDecoder().decodeAll(before + after)
        #expect(outputs.count == 30)
        #expect(outputs.allSatisfy { $0.fault == nil && $0.damage == [] })
        #expect(outputs.suffix(10).map(\.id) == Array(20..<30))
        #expect(outputs.suffix(10).map(\.after) == Array(21...30))
        #expect(outputs.dropLast(10).allSatisfy { $0.after <= 21 })
    }

    @Test func aSizeChangeIsReported() throws {
        let units =
            try encodeUnits(configuration(), count: 3) + encodeUnits(configuration(176, 320), count: 3)
            + encodeUnits(configuration(176, 320), count: 2)
        let outputs = try VideoDecoder().decodeAll(units.map(\.bytes))
        #expect(outputs.map(\.size.width) == [320, 320, 320, 176, 176, 176, 176, 176])
        #expect(outputs.last?.size == PictureSize(width: 176, height: 320))
        #expect(outputs.allSatisfy { $0.fault == nil && $0.damage == [] })
    }

    @Test func aDamagedUnitIsFlaggedAndOverAtTheNextKeyframe() throws {
        var units = try encodeUnits(configuration(), count: 30, keyframeEvery: 10).map(\.bytes)
        for i in units[12].count / 2..<units[12].count { units[12][i] ^= 0x5a }
        let outputs = try VideoDecoder().decodeAll(units)
        #expect(Set(outputs.map(\.id)) == Set(0..<30))
        #expect(outputs.filter { $0.damage != [] || $0.fault != nil }.map(\.id) == Array(12..<20))
        #expect(outputs.first { $0.id == 12 }?.damage.contains(.concealed) == true)
    }

    @Test func aLostSliceIsConcealed() throws {
        var configuration = self.configuration()
        configuration.threads = 3
        for slice in 0..<3 {
            var units = try encodeUnits(configuration, count: 30, keyframeEvery: 10).map(\.bytes)
            // Start codes of the slices of picture 14.
            let starts = units[14].indices.filter { i in
                i + 3 < units[14].count && units[14][i] == 0 && units[14][i + 1] == 0 && units[14][i + 2] == 1
                    && units[14][i + 3] & 0x1f == 1
            }
            try #require(starts.count == 3)
            units[14].removeSubrange(starts[slice]..<(slice == 2 ? units[14].count : starts[slice + 1]))
            let outputs = try VideoDecoder().decodeAll(units)
            let wrong = outputs.filter { $0.damage != [] || $0.fault != nil }
            #expect(wrong.map(\.id) == Array(14..<20), "slice \(slice)")
        }
    }

    @Test func nonReferencePicturesCanBeSkipped() throws {
        let units = try stream(["-bf", "2", "-b_strategy", "0", "-x264-params", "b-pyramid=none"])
        let decoder = try VideoDecoder()
        decoder.skipsNonReference = true
        let outputs = try decoder.decodeAll(units)
        #expect(outputs.count == 60)
        let skipped = outputs.filter { $0.fault == .skipped }.count
        #expect(skipped > 30)
        #expect(outputs.filter { $0.fault == nil }.count == 60 - skipped)
        #expect(outputs.allSatisfy { $0.damage == [] })
    }

    @Test func noBytesCrashItAndEveryUnitIsAccountedFor() throws {
        var random = SplitMix64(seed: 4)
        let good = try encodeUnits(configuration(), count: 20, keyframeEvery: 5).map(\.bytes)
        for _ in 0..<30 {
            var units = good
            for i in units.indices {
                switch random.next() % 5 {
                case 0: units[i] = (0..<Int(random.next() % 300)).map { _ in UInt8(random.next() & 255) }
                case 1:
                    for _ in 0..<20 {
                        units[i][Int(random.next() % UInt64(units[i].count))] ^= 1 << (random.next() & 7)
                    }
                case 2: units[i].removeLast(Int(random.next() % UInt64(units[i].count)))
                case 3: units[i] = [0, 0, 0, 1, 0x67] + units[i].reversed()
                default: break
                }
            }
            let decoder = try VideoDecoder()
            let outputs = try decoder.decodeAll(units)
            #expect(outputs.map(\.id).sorted() == Array(0..<20))
            #expect(decoder.ledger.unresolvedCount == 0)
        }
    }

    @Test func otherSampleFormatsAreConverted() throws {
        for format in ["yuv422p", "yuv444p", "yuv420p10le", "yuvj420p"] {
            let units = try stream(["-pix_fmt", format, "-tune", "zerolatency"], frames: 5)
            let outputs = try VideoDecoder().decodeAll(units)
            let reference = try VideoDecoder().decodeAll(try stream(["-tune", "zerolatency"], frames: 5))
            #expect(outputs.count == 5)
            #expect(outputs.allSatisfy { $0.fault == nil && $0.size == PictureSize(width: 320, height: 192) })
            let converted = format == "yuvj420p" ? nil : format
            #expect(outputs.allSatisfy { $0.convertedFrom?.name == converted })
            if format != "yuvj420p" {
                for (a, b) in zip(outputs, reference) { #expect(abs(a.meanLuma - b.meanLuma) <= 1, "\(format)") }
            } else {
                #expect(outputs.allSatisfy { $0.color.range == .full })
            }
        }
    }

    @Test func absurdSizesAreRefused() throws {
        var settings = VideoDecoder.Configuration()
        settings.maximumSamples = 320 * 100
        let units = try encodeUnits(configuration(), count: 3).map(\.bytes)
        let outputs = try VideoDecoder(settings).decodeAll(units)
        #expect(outputs.count == 3)
        #expect(outputs.allSatisfy { $0.fault != nil })
    }

    @Test func quantisersAreExportedWhenAsked() throws {
        let decoder = try VideoDecoder()
        var exported: [Bool] = []
        for (index, unit) in try encodeUnits(configuration(), count: 12).enumerated() {
            if index % 4 == 0 { decoder.exportsQuantisers.toggle() }
            try unit.bytes.withUnsafeBytes { _ = try decoder.decode($0, id: unit.id) }
            while let output = try decoder.next() {
                guard case .picture(let picture) = consume output else { continue }
                exported.append(picture.meanQuantiser != nil)
            }
        }
        #expect(exported == (0..<12).map { $0 / 4 % 2 == 0 })
    }

    @Test func quantisersAreExported() throws {
        var settings = VideoDecoder.Configuration()
        settings.exportsQuantisers = true
        var coarse = configuration()
        coarse.rateControl = .quality(40, maximumRate: nil, bufferFrames: 1)
        var fine = configuration()
        fine.rateControl = .quality(15, maximumRate: nil, bufferFrames: 1)
        func quantisers(_ configuration: VideoEncoderConfiguration) throws -> Float {
            let decoder = try VideoDecoder(settings)
            var sum: Float = 0
            for unit in try encodeUnits(configuration, count: 10) {
                try unit.bytes.withUnsafeBytes { _ = try decoder.decode($0, id: unit.id) }
                while let output = try decoder.next() {
                    guard case .picture(let picture) = consume output else { continue }
                    sum += picture.meanQuantiser ?? .nan
                }
            }
            return sum / 10
        }
        let (c, f) = (try quantisers(coarse), try quantisers(fine))
        #expect(c > 34 && c < 46)
        #expect(f > 10 && f < 21)
    }
}
