import Media
import Testing

@testable import Codec

@Suite struct VideoEncoderTests {
    private func configuration(_ width: Int = 320, _ height: Int = 192) -> VideoEncoderConfiguration {
        VideoEncoderConfiguration(size: PictureSize(width: width, height: height), frameRate: Rational(30))
    }

    @Test(arguments: EncoderPreset.allCases, [1, 2])
    func everyUnitIsEmittedBeforeTheCallReturns(
        _ preset: EncoderPreset, _ threads: Int
    ) throws {
        var configuration = self.configuration()
        configuration.preset = preset
        configuration.threads = threads
        let encoder = try VideoEncoder(configuration)
        for i in 0..<6 {
            var units: [KeptUnit] = []
            let picture = makePicture(configuration.size, index: i)
            try encoder.encode(picture.view, id: Int64(100 - i), at: MediaTime(ticks: Int64(i) * 3003)) {
                units.append(KeptUnit($0))
            }
            try #require(units.count == 1)
            #expect(units[0].id == Int64(100 - i))
            #expect(units[0].presentationTime == MediaTime(ticks: Int64(i) * 3003))
            #expect(units[0].decodeTime == units[0].presentationTime)
            #expect(units[0].isKeyframe == (i == 0))
            #expect(units[0].bytes.starts(with: [0, 0, 0, 1, 9]))
        }
        try encoder.finish { _ in Issue.record("the encoder held a unit back") }
    }

    @Test func keyframesComeWhenAskedForAndOnlyThen() throws {
        let units = try encodeUnits(configuration(), count: 50, keyframeEvery: 13)
        #expect(units.indices.filter { units[$0].isKeyframe } == [0, 13, 26, 39])
        // Each can be decoded from: parameter sets and an IDR slice are in it.
        let outputs = try VideoDecoder().decodeAll(units.dropFirst(26).map(\.bytes))
        #expect(outputs.allSatisfy { $0.fault == nil && $0.damage == [] })
    }

    /// The sequence parameter set says profile 66 with constraint_set1, the picture parameter set entropy_coding_mode 0 (H.264, 7.3.2.1 and
    /// 7.3.2.2), whatever else is asked for; without it presets but the fastest say High.
    @Test(arguments: [.superfast, .careful, .veryfast, .medium, .quick] as [EncoderPreset], [true, false])
    func constrainedBaselineIsWhatItSays(preset: EncoderPreset, isBaseline: Bool) throws {
        var configuration = self.configuration()
        (configuration.preset, configuration.isBaseline) = (preset, isBaseline)
        (configuration.usesCABAC, configuration.rateControl) = (!isBaseline, .rate(600_000, bufferFrames: 4))
        let units = try encodeUnits(configuration, count: 20, keyframeEvery: 10)
        for unit in [units[0], units[10]] {
            let sets = unit.bytes.indices.dropLast(6).filter { unit.bytes[$0..<$0 + 3].elementsEqual([0, 0, 1]) }
            let sequence = try #require(sets.first { unit.bytes[$0 + 3] & 31 == 7 })
            let picture = try #require(sets.first { unit.bytes[$0 + 3] & 31 == 8 })
            #expect((unit.bytes[sequence + 4] == 66) == isBaseline && (unit.bytes[sequence + 5] & 0x40 != 0 || !isBaseline))
            // Both numbers are 0, a bit of 1 each.
            #expect(unit.bytes[picture + 4] & 0xc0 == 0xc0 && (unit.bytes[picture + 4] & 0x20 == 0) == isBaseline)
        }
        #expect(try VideoDecoder().decodeAll(units.map(\.bytes)).allSatisfy { $0.fault == nil && $0.damage == [] })
    }

    @Test func aSceneCutIsNoKeyframe() throws {
        let encoder = try VideoEncoder(configuration(64, 64))
        var keys: [Int64] = []
        for i in 0..<20 {
            let picture = Picture(size: PictureSize(width: 64, height: 64))
            for y in 0..<64 { for x in 0..<64 { picture.mutableView.y.row(y)[x] = UInt8(i < 10 ? 16 : (x * y) & 255) } }
            try encoder.encode(picture.view, id: Int64(i), at: MediaTime(ticks: Int64(i) * 3000)) {
                if $0.isKeyframe { keys.append($0.id) }
            }
        }
        #expect(keys == [0])
    }

    @Test func theMaximumRateHolds() throws {
        var configuration = self.configuration()
        configuration.rateControl = .rate(600_000, bufferFrames: 2)
        let units = try encodeUnits(configuration, count: 90, keyframeEvery: 30)
        // Two frame times of buffer, and a keyframe's parameter sets and delimiter on top.
        let frame = 600_000 / 30 / 8
        #expect(units.dropFirst(5).allSatisfy { $0.bytes.count <= 2 * frame + 200 })
        #expect(units.map(\.bytes.count).reduce(0, +) <= 90 * frame + 3 * frame)
    }

    /// Noise takes all that the rate allows. Another rate, and another number of pictures a second, hold from the next picture on.
    @Test func theMaximumRateChangesWithoutAKeyframe() throws {
        var configuration = self.configuration()
        configuration.rateControl = .quality(20, maximumRate: 2_000_000, bufferFrames: 4)
        let encoder = try VideoEncoder(configuration)
        var random = SplitMix64(seed: 3)
        let picture = Picture(size: configuration.size)
        var index: Int64 = 0
        /// The mean size of further pictures, in bits.
        func meanSize(_ count: Int) throws -> Double {
            var bits = 0
            for _ in 0..<count {
                let luma = picture.mutableView.y
                for y in 0..<luma.height {
                    for x in 0..<luma.width { luma.row(y)[x] = UInt8.random(in: 0...255, using: &random) }
                }
                try encoder.encode(picture.view, id: index, at: MediaTime(ticks: index * 3000)) {
                    bits += 8 * $0.bytes.count
                    #expect($0.isKeyframe == ($0.id == 0))
                }
                index += 1
            }
            return Double(bits) / Double(count)
        }
        func expect(_ rate: Int, at frameRate: Rational) throws {
            #expect(encoder.change(.quality(20, maximumRate: rate, bufferFrames: 4), at: frameRate))
            _ = try meanSize(8)
            let share = try meanSize(24) / (Double(rate) / frameRate.value)
            #expect(share > 0.7 && share < 1.15, "\(rate) at \(frameRate): \(share)")
        }
        try expect(2_000_000, at: Rational(30))
        try expect(400_000, at: Rational(30))
        try expect(1_600_000, at: Rational(30))
        try expect(1_200_000, at: Rational(60))
        #expect(encoder.configuration.rateControl == .quality(20, maximumRate: 1_200_000, bufferFrames: 4))
        #expect(encoder.configuration.frameRate == Rational(30))
        // More than the level allows, and other kinds of rate control, need another encoder.
        #expect(!encoder.change(.quality(20, maximumRate: 9_000_000, bufferFrames: 4), at: Rational(30)))
        #expect(!encoder.change(.quality(20, maximumRate: nil, bufferFrames: 4), at: Rational(30)))
        #expect(!encoder.change(.quality(21, maximumRate: 1_000_000, bufferFrames: 4), at: Rational(30)))
        #expect(!encoder.change(.rate(1_000_000, bufferFrames: 4), at: Rational(30)))
    }

    /// The rate control tells with each unit how coarsely it coded.
    @Test(arguments: [30.0, 40]) func unitsHaveTheirQuantiser(factor: Double) throws {
        var configuration = self.configuration()
        configuration.rateControl = .quality(factor, maximumRate: nil, bufferFrames: 2)
        let encoder = try VideoEncoder(configuration)
        let picture = Picture(size: configuration.size)
        var random = SplitMix64(seed: 7)
        var quantisers: [Float] = []
        for index in 0..<8 as Range<Int64> {
            let luma = picture.mutableView.y
            for y in 0..<luma.height {
                for x in 0..<luma.width { luma.row(y)[x] = UInt8.random(in: 90...150, using: &random) }
            }
            try encoder.encode(picture.view, id: index, at: MediaTime(ticks: index * 3000)) {
                if let quantiser = $0.quantiser { quantisers.append(quantiser) }
            }
        }
        #expect(quantisers.count == 8 && quantisers.allSatisfy { abs($0 - Float(factor)) < 8 }, "\(quantisers)")
    }

    /// `ultrafast` alone codes without CABAC, which the first byte of its parameter sets tells: the baseline profile has none.
    @Test func cabacIsAdded() throws {
        func profile(_ preset: EncoderPreset, _ usesCABAC: Bool) throws -> UInt8? {
            var configuration = self.configuration()
            (configuration.preset, configuration.usesCABAC) = (preset, usesCABAC)
            let encoder = try VideoEncoder(configuration)
            let picture = Picture(size: configuration.size)
            var profile: UInt8?
            try encoder.encode(picture.view, id: 0, at: MediaTime(ticks: 0)) { unit in
                let bytes = Array(unit.bytes)
                let at = bytes.indices.dropLast(4).first { bytes[$0...].starts(with: [0, 0, 1, 0x67]) }
                profile = at.map { bytes[$0 + 4] }
            }
            return profile
        }
        #expect(try profile(.ultrafast, false) == 66 && profile(.ultrafast, true) == 77)
        #expect(try profile(.quick, false) == 100)
    }

    /// Where coefficients are chosen, those go that cost more than they bring.
    @Test func coefficientsAreChosen() throws {
        func bytes(_ chooses: Bool) throws -> Int {
            var configuration = self.configuration()
            configuration.rateControl = .quality(30, maximumRate: nil, bufferFrames: 2)
            configuration.choosesCoefficients = chooses
            let encoder = try VideoEncoder(configuration)
            var random = SplitMix64(seed: 5)
            let picture = Picture(size: configuration.size)
            var bytes = 0
            for index in 0..<4 as Range<Int64> {
                let luma = picture.mutableView.y
                for y in 0..<luma.height {
                    for x in 0..<luma.width { luma.row(y)[x] = UInt8.random(in: 90...150, using: &random) }
                }
                try encoder.encode(picture.view, id: index, at: MediaTime(ticks: index * 3000)) { bytes += $0.bytes.count }
            }
            return bytes
        }
        let (usual, chosen) = (try bytes(false), try bytes(true))
        #expect(chosen < usual, "\(chosen), \(usual)")
    }

    /// Noise takes all that the mean allows, and another mean holds from the next pictures on, with another buffer, too.
    @Test func theMeanRateChangesWithoutAKeyframe() throws {
        var configuration = self.configuration()
        configuration.rateControl = .rate(600_000, bufferFrames: 30)
        configuration.leastQuantiser = 18
        configuration.adaptsQuantiser = false
        let encoder = try VideoEncoder(configuration)
        var random = SplitMix64(seed: 3)
        let picture = Picture(size: configuration.size)
        var index: Int64 = 0
        func meanRate(_ count: Int) throws -> Double {
            var bits = 0
            for _ in 0..<count {
                let luma = picture.mutableView.y
                for y in 0..<luma.height {
                    for x in 0..<luma.width { luma.row(y)[x] = UInt8.random(in: 100...140, using: &random) }
                }
                try encoder.encode(picture.view, id: index, at: MediaTime(ticks: index * 3000)) {
                    bits += 8 * $0.bytes.count
                    #expect($0.isKeyframe == ($0.id == 0))
                }
                index += 1
            }
            return Double(bits) / Double(count) * 30
        }
        for (rate, frames) in [(600_000, 30.0), (250_000, 10.0), (700_000, 30.0)] {
            #expect(encoder.change(.rate(rate, bufferFrames: frames), at: Rational(30)))
            _ = try meanRate(45)
            let share = try meanRate(60) / Double(rate)
            #expect(share > 0.7 && share < 1.15, "\(rate): \(share)")
        }
        #expect(!encoder.change(.quality(23, maximumRate: 300_000, bufferFrames: 4), at: Rational(30)))
    }

    /// Pictures that need few bits get no more than the least quantiser takes.
    @Test func theLeastQuantiserSavesBits() throws {
        func size(_ least: Int?) throws -> Int {
            var configuration = self.configuration()
            configuration.rateControl = .rate(700_000, bufferFrames: 30)
            configuration.leastQuantiser = least
            return try encodeUnits(configuration, count: 60, keyframeEvery: 60).map(\.bytes.count).reduce(0, +)
        }
        #expect(try size(40) < size(nil) / 2)
    }

    @Test(arguments: [
        (176, 144, 15, 64_000), (320, 192, 30, 768_000), (640, 360, 30, 10_000_000), (1280, 720, 30, 14_000_000),
        (1280, 720, 60, 20_000_000), (1920, 1080, 30, 20_000_000), (3840, 2160, 60, 240_000_000), (16384, 16384, 30, 0),
    ])
    func levelsLimitTheRate(width: Int, height: Int, rate: Int64, bits: Int) {
        let size = PictureSize(width: width, height: height)
        #expect(LevelLimit.maximumRate(of: size, frameRate: Rational(rate)) == bits)
    }

    @Test func framesAreNotTouchedAfterTheCall() throws {
        let configuration = self.configuration()
        let encoder = try VideoEncoder(configuration)
        let picture = makePicture(configuration.size, index: 3)
        func fill(_ luma: UInt8) {
            let view = picture.mutableView.y
            for y in 0..<view.height { view.row(y).update(repeating: luma, count: view.width) }
        }
        let levels: [UInt8] = [40, 180, 77, 220]
        var units: [[UInt8]] = []
        for (i, level) in levels.enumerated() {
            fill(level)
            try encoder.encode(picture.view, id: Int64(i), at: MediaTime(ticks: Int64(i) * 3000)) {
                units.append(Array($0.bytes))
            }
            // A pool may overwrite a picture that was returned to it.
            fill(128)
        }
        let outputs = try VideoDecoder().decodeAll(units)
        #expect(outputs.count == levels.count)
        for (output, level) in zip(outputs, levels) { #expect(abs(output.meanLuma - Int(level)) <= 2) }
    }

    @Test(arguments: [(127, 96), (128, 95), (0, 0), (8, 8), (-4, 16), (20_000, 100)])
    func impossibleSizesAreATypedError(_ width: Int, _ height: Int) {
        #expect(throws: CodecError.self) { _ = try VideoEncoder(configuration(width, height)) }
    }

    @Test func wrongPicturesAndTimesAreATypedError() throws {
        let encoder = try VideoEncoder(configuration())
        let picture = makePicture(PictureSize(width: 320, height: 192), index: 0)
        let other = makePicture(PictureSize(width: 192, height: 320), index: 0)
        try encoder.encode(picture.view, id: 0, at: MediaTime(ticks: 10)) { _ in }
        #expect(throws: CodecError.self) { try encoder.encode(picture.view, id: 1, at: MediaTime(ticks: 10)) { _ in } }
        #expect(throws: CodecError.self) { try encoder.encode(other.view, id: 1, at: MediaTime(ticks: 20)) { _ in } }
        try encoder.encode(picture.view, id: 1, at: MediaTime(ticks: 20)) { #expect($0.id == 1) }
    }

    @Test(arguments: [(16, 16), (128, 94), (360, 640), (1280, 720)])
    func sizesComeThrough(_ width: Int, _ height: Int) throws {
        let configuration = self.configuration(width, height)
        let outputs = try VideoDecoder().decodeAll(try encodeUnits(configuration, count: 2).map(\.bytes))
        #expect(outputs.count == 2 && outputs.allSatisfy { $0.size == configuration.size })
    }
}
