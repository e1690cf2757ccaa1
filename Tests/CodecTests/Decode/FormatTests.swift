import Bitstream
import Container
import Foundation
import Media
import Testing

@testable import Codec

/// Streams of all formats that other programs made, through the decoder.
@Suite struct FormatTests {
    static let names = [
        "hevc.ts", "hevc-open.ts", "hevc-slices.ts", "mpeg2.ts", "mpeg2-bframes.ts", "mpeg1.ts", "av1.ivf", "av1-hidden.ivf",
        "vp8.ivf", "vp9.ivf",
    ]

    /// What came out of a decoder, and when.
    struct Outcome {
        var pictures: [(id: Int64, luma: UInt64, quantiser: Float?, damage: PictureDamage, isReference: Bool)] = []
        var faults: [Int64: CodecFault] = [:]
        /// How many pictures had come out when each unit was in.
        var afterUnit: [Int] = []
    }

    static func decode(
        _ units: [[UInt8]], _ codec: VideoCodec, threads: Int = 1, prepare: (VideoDecoder) -> Void = { _ in }
    ) throws -> Outcome {
        var configuration = VideoDecoder.Configuration()
        configuration.codec = codec
        configuration.threads = threads
        configuration.exportsQuantisers = true
        let decoder = try VideoDecoder(configuration)
        prepare(decoder)
        var outcome = Outcome()
        func collect() throws {
            while let output = try decoder.next() {
                switch consume output {
                case .picture(let picture):
                    outcome.pictures.append(
                        (
                            picture.id, digest(picture.view.y), picture.meanQuantiser, picture.damage,
                            picture.isReference
                        ))
                case .noPicture(let id, let fault): outcome.faults[id] = fault
                }
            }
        }
        for (id, unit) in units.enumerated() {
            try unit.withUnsafeBytes { _ = try decoder.decode($0, id: Int64(id)) }
            try collect()
            outcome.afterUnit.append(outcome.pictures.count)
        }
        decoder.drain()
        try collect()
        return outcome
    }

    static func digest(_ plane: PlaneView) -> UInt64 {
        var sum: UInt64 = 14_695_981_039_346_656_037
        for row in 0..<plane.height {
            for column in 0..<plane.width {
                sum = (sum ^ UInt64(plane.base[row * plane.stride + column])) &* 1_099_511_628_211
            }
        }
        return sum
    }

    /// The same pictures in the same order as libavformat and libavcodec give them without any hurry.
    @Test(arguments: names, [1, 2]) func picturesAreThoseOfAPlainDecoder(name: String, threads: Int) throws {
        let golden = try GoldenUnits(name)
        let outcome = try Self.decode(golden.units, golden.codec, threads: threads)
        let reader = try FileReader(path: GoldenUnits.path(name))
        var expected: [UInt64] = []
        while let item = try reader.next() {
            if case .picture(let picture, _) = consume item { expected.append(Self.digest(picture.view.y)) }
        }
        #expect(outcome.pictures.map(\.luma) == expected && expected.count > 10)
        #expect(outcome.pictures.allSatisfy { $0.damage.isEmpty })
        #expect(outcome.faults.values.allSatisfy { $0 == .hidden })
        #expect(outcome.pictures.count + outcome.faults.count == golden.units.count)
    }

    /// No picture is held that need not be: each comes out with the unit with which all that are shown before it are in.
    @Test(arguments: names.filter { $0 != "hevc-open.ts" }) func noPictureIsHeld(name: String) throws {
        let golden = try GoldenUnits(name)
        let outcome = try Self.decode(golden.units, golden.codec)
        var arrived: Set<Int> = []
        var ready = 0
        var hidden = 0
        for (unit, place) in golden.places.enumerated() {
            if outcome.faults[Int64(unit)] == .hidden { hidden += 1 }
            arrived.insert(place)
            while arrived.contains(ready) { ready += 1 }
            #expect(outcome.afterUnit[unit] == ready - hidden, "unit \(unit)")
        }
    }

    /// HEVC with B pictures says how many pictures may be held, and no more are.
    @Test func reorderedHEVCIsHeldAsFarAsItSays() throws {
        let golden = try GoldenUnits("hevc-open.ts")
        let outcome = try Self.decode(golden.units, golden.codec)
        for (unit, count) in outcome.afterUnit.enumerated() { #expect(unit + 1 - count <= 2) }
    }

    @Test(arguments: ["hevc", "hevc-open", "hevc-slices", "av1", "av1-hidden", "vp9"])
    func quantisersAreThoseOfTheHeaders(name: String) throws {
        let golden = try GoldenUnits(name + (name.hasPrefix("hevc") ? ".ts" : ".ivf"))
        let known = try GoldenUnits.quantisers(name)
        let outcome = try Self.decode(golden.units, golden.codec)
        var checked = 0
        for picture in outcome.pictures {
            guard let index = known[Int(picture.id)] else { continue }
            let expected = golden.codec == .hevc ? Float(index) : QuantiserScale.vp9(index: index)
            #expect(picture.quantiser == expected, "unit \(picture.id)")
            checked += 1
        }
        #expect(checked > 15)
    }

    @Test func mpeg2AndVP8QuantisersAreMapped() throws {
        // -q:v 12: a quantiser_scale of 24 in all macroblocks but those that the encoder's rate control changes.
        let mpeg2 = try GoldenUnits("mpeg2.ts")
        let coarse = try Self.decode(mpeg2.units, .mpeg2Video).pictures.compactMap(\.quantiser)
        #expect(coarse.count == 45 && coarse.allSatisfy { abs($0 - QuantiserScale.mpeg2(scale: 24)) < 2 }, "\(coarse)")
        // libvpx's scale of 0…63 is a choice of indices: 20 is 25 (vp8/encoder/onyx_if.c: q_trans).
        let vp8 = try GoldenUnits("vp8.ivf")
        let pictures = try Self.decode(vp8.units, .vp8).pictures
        #expect(pictures.allSatisfy { $0.quantiser == QuantiserScale.vp8(index: 25) }, "\(pictures.map(\.quantiser))")
    }

    @Test func scalesMeetAtTheirEnds() {
        #expect(abs(QuantiserScale.vp9(index: 255) - 51) < 0.1)
        #expect(QuantiserScale.vp9(index: 0) == 0)
        #expect(abs(QuantiserScale.mpeg2(scale: 16) - 28) < 0.001)
        #expect(abs(QuantiserScale.vp8(index: 127) - 46.9) < 0.1)
        #expect(abs(QuantiserScale.quantiser(step: 1) - 4) < 0.001 && QuantiserScale.quantiser(step: 0) == 0)
    }

    @Test func aGuessIsCoarseWhereBitsAreFew() {
        var guess = QuantiserGuess()
        #expect(guess.value(samples: 1000, .h264) == nil)
        for _ in 0..<40 { guess.record(bytes: 5_760) }
        let plain = guess.value(samples: 1280 * 720, .h264)!
        #expect(abs(plain - 32) < 0.1, "a twentieth of a bit for each sample")
        #expect(guess.value(samples: 1280 * 720, .hevc)! < plain)
    }

    // MARK: Bad starts

    /// The stream is joined at its second entry point, a CRA: what follows and is shown before it cannot be decoded.
    @Test func leadingPicturesOfAnOpenStartAreDropped() throws {
        let golden = try GoldenUnits("hevc-open.ts")
        let entry = 17
        let outcome = try Self.decode(Array(golden.units[entry...]), .hevc)
        let leading = golden.places[entry...].filter { $0 < golden.places[entry] }.count
        #expect(leading == 3)
        #expect(outcome.faults.count == leading && outcome.faults.values.allSatisfy { $0 == .awaitingKeyframe })
        #expect(outcome.pictures.count == golden.units.count - entry - leading)
        #expect(outcome.pictures.allSatisfy { $0.damage.isEmpty })
    }

    @Test(arguments: [("hevc.ts", 30), ("mpeg2.ts", 15), ("av1.ivf", 15), ("vp8.ivf", 15), ("vp9.ivf", 12)])
    func whatPrecedesTheFirstEntryPointIsDropped(name: String, entry: Int) throws {
        let golden = try GoldenUnits(name)
        let outcome = try Self.decode(Array(golden.units[3...]), golden.codec)
        #expect(outcome.faults.count == entry - 3 && outcome.faults.values.allSatisfy { $0 == .awaitingKeyframe })
        #expect(outcome.pictures.count == golden.units.count - entry)
    }

    @Test func anOpenMPEG2StartLosesItsFirstBPictures() throws {
        let golden = try GoldenUnits("mpeg2-bframes.ts")
        let outcome = try Self.decode(Array(golden.units[10...]), .mpeg2Video)
        // The second group begins with an intra picture, before which two B pictures are shown.
        #expect(outcome.faults.count == 2 && outcome.faults.values.allSatisfy { $0 == .awaitingKeyframe })
        #expect(outcome.pictures.count == golden.units.count - 12)
    }

    @Test func av1WithoutASequenceHeaderGivesNothing() throws {
        let golden = try GoldenUnits("av1.ivf")
        // A temporal delimiter of 2 bytes, then the sequence header with its size.
        let units = golden.units.map { unit in
            unit[2] >> 3 == 1 ? Array(unit[..<2] + unit[(4 + Int(unit[3]))...]) : unit
        }
        #expect(units[0].count < golden.units[0].count)
        let outcome = try Self.decode(units, .av1)
        #expect(outcome.pictures.isEmpty && outcome.faults.count == units.count)
        #expect(outcome.faults.values.allSatisfy { $0 == .awaitingKeyframe })
    }

    // MARK: Damage

    @Test(arguments: names) func damagedUnitsAreAccountedFor(name: String) throws {
        let golden = try GoldenUnits(name)
        var random = SplitMix64(seed: 11)
        for _ in 0..<6 {
            let units = golden.units.enumerated().map { index, unit in
                guard index > 0, Int.random(in: 0..<4, using: &random) == 0 else { return unit }
                var broken = unit
                for _ in 0..<3 { broken[Int.random(in: 0..<unit.count, using: &random)] ^= 0x55 }
                return Bool.random(using: &random) ? broken : Array(broken.prefix(unit.count / 2))
            }
            let outcome = try Self.decode(units, golden.codec)
            #expect(outcome.pictures.count + outcome.faults.count == units.count)
            #expect(Set(outcome.pictures.map(\.id)).isDisjoint(with: outcome.faults.keys))
        }
    }

    /// The cheapest way to decode less: what no other picture refers to.
    @Test func unreferredPicturesAreSkipped() throws {
        for (name, skipped) in [("hevc-open.ts", 15...45), ("mpeg2-bframes.ts", 25...30), ("hevc.ts", 0...0)] {
            let golden = try GoldenUnits(name)
            let outcome = try Self.decode(golden.units, golden.codec) { $0.skipsNonReference = true }
            #expect(skipped.contains(outcome.faults.count), "\(name): \(outcome.faults.count)")
            #expect(outcome.faults.values.allSatisfy { $0 == .skipped })
            #expect(outcome.pictures.count == golden.units.count - outcome.faults.count)
            #expect(outcome.pictures.allSatisfy { $0.isReference && $0.damage.isEmpty })
            let places = outcome.pictures.map { golden.places[Int($0.id)] }
            #expect(places == places.sorted())
        }
    }
}
