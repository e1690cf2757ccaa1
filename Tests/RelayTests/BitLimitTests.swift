import Codec
import Endpoint
import Media
import Settings
import TestStreams
import Testing
@testable import Relay

/// Bits in proportion to the input's.
@Suite struct BitLimitTests {
    private func time(_ picture: Int) -> MediaTime { MediaTime(ticks: Int64(picture) * 3000) }

    @Test func theInputsRateIsTheMeanOfItsSeconds() {
        var rate = InputRate()
        var changes: [Int] = []
        // A keyframe each second has as many bits as all others.
        for picture in 0..<300 where rate.observe(bytes: picture % 30 == 0 ? 3000 : 100, at: time(picture)) {
            changes.append(rate.rate ?? 0)
        }
        #expect(changes.count == 1 && abs(changes[0] - 47_200) < 500, "\(changes)")
        for picture in 300..<600 { _ = rate.observe(bytes: 1000, at: time(picture)) }
        #expect(abs((rate.rate ?? 0) - 240_000) < 24_000, "\(rate.rate ?? 0)")
    }

    /// Pictures that are missing, and a clock that begins anew, have no bits that count.
    @Test func gapsAndJumpsAreNoRate() {
        var rate = InputRate()
        for picture in 0..<90 { _ = rate.observe(bytes: 1000, at: time(picture)) }
        let before = rate.rate
        let changes = [9000, 3].map { rate.observe(bytes: 1_000_000, at: time($0)) }
        #expect(changes == [false, false] && rate.rate == before && before != nil)
    }

    /// What came before a step back counts no more.
    @Test(arguments: [30, 90, 110]) func aClockThatIsSetBackMovesNoRate(pictures: Int) {
        var rate = InputRate()
        for picture in 0..<300 { _ = rate.observe(bytes: 1000, at: time(picture)) }
        #expect(rate.rate == 240_000)
        for picture in 300 - pictures..<600 where rate.observe(bytes: 1000, at: time(picture)) {
            Issue.record("\(rate.rate ?? 0) at \(picture)")
        }
    }

    @Test func tooManyBitsAreSaidOnce() {
        var check = RateCheck()
        func seconds(_ range: Range<Int>, bytes: Int, limit: Int) -> [Int] {
            (range.lowerBound * 30..<range.upperBound * 30).compactMap {
                check.observe(bytes: bytes, at: time($0), limit: limit)
            }
        }
        #expect(seconds(0..<10, bytes: 2200, limit: 500_000).isEmpty)
        #expect(seconds(10..<20, bytes: 3000, limit: 500_000) == [720_000])
        #expect(seconds(20..<30, bytes: 3000, limit: 800_000).isEmpty)
        #expect(seconds(30..<40, bytes: 3000, limit: 600_000) == [720_000])
    }

    /// A limit that follows something else changes in every second.
    @Test func tooManyBitsAreSaidWhateverTheLimitDoes() {
        var check = RateCheck()
        let said = (0..<900).compactMap { picture in
            check.observe(bytes: 3000, at: time(picture), limit: picture / 20 % 2 == 0 ? 500_000 : 520_000)
        }
        #expect(said == [720_000])
    }

    /// One second alone is no reason: an encoder begins with a full buffer.
    @Test func oneSecondSaysNothing() {
        var check = RateCheck()
        let said = (0..<300).compactMap { check.observe(bytes: $0 / 30 % 2 == 0 ? 3000 : 1000, at: time($0), limit: 500_000) }
        #expect(said.isEmpty)
    }

    @Test func theLimitFollowsTheInput() {
        func limit(input: Int, _ adjust: (inout StreamSettings) -> Void = { _ in }) -> Int? {
            var settings = StreamSettings()
            adjust(&settings)
            return RelayConfiguration(input: .standardStream, output: .standardStream).encoding(
                of: PictureSize(width: 1280, height: 720), color: ColorDescription(), rate: Rational(30), input: input, settings
            ).rateControl.maximumRate
        }
        #expect(limit(input: 0) == 2_764_800)
        #expect(limit(input: 1_000_000) == 2_000_000)
        #expect(limit(input: 9_000_000) == 5_529_600)
        // A screen that stands still.
        #expect(limit(input: 1000) == 276_480)
        #expect(limit(input: 1_000_000) { $0.bits = 1.5 } == 1_500_000)
        #expect(limit(input: 1_000_000) { $0.bitRate = 4_000_000 } == 4_000_000)
        #expect(limit(input: 1_000_000) { $0.bitRateFloor = 300_000 } == 2_764_800)
        #expect(
            limit(input: 1_000_000) {
                $0.bitRate = 4_000_000
                $0.bits = 1.25
            } == 1_250_000)
    }

    /// Keyframes may be large where no link is known to be narrow.
    @Test func theBufferIsASecondUnlessARateIsGiven() {
        func frames(_ adjust: (inout StreamSettings) -> Void) -> Double? {
            var settings = StreamSettings()
            adjust(&settings)
            let encoding = RelayConfiguration(input: .standardStream, output: .standardStream).encoding(
                of: PictureSize(width: 1280, height: 720), color: ColorDescription(), rate: Rational(30), input: 1_000_000,
                settings)
            guard case .rate(_, let frames) = encoding.rateControl else { return nil }
            return frames
        }
        #expect(frames { _ in } == 30)
        #expect(frames { $0.bitRate = 1_000_000 } == 4)
        #expect(frames { $0.bitRateFloor = 1_000_000 } == 4)
        #expect(
            frames {
                $0.bits = 1.5
                $0.bitRate = 1_000_000
            } == 4)
    }

    /// A ceiling that follows from size and rate rises by half while a reaction runs. What somebody says of a link holds.
    @Test func reactionsHaveBitsOfTheirOwn() {
        func bits(_ adjust: (inout StreamSettings) -> Void) -> [Int?] {
            [[], [Reaction(.rain, length: .seconds(3), begins: .now(), seed: 1)]].map { reactions in
                var settings = StreamSettings()
                adjust(&settings)
                settings.steps.reactions = reactions
                let encoding = RelayConfiguration(input: .standardStream, output: .standardStream).encoding(
                    of: PictureSize(width: 1280, height: 720), color: ColorDescription(), rate: Rational(30),
                    input: 1_000_000, settings)
                return encoding.rateControl.maximumRate
            }
        }
        let usual = bits { _ in }
        #expect(usual[0].map { $0 + $0 / 2 } == usual[1] && usual[0] != nil)
        let held = bits { $0.bitRate = 900_000 }
        #expect(held[0] == held[1])
        let floor = bits { $0.bitRateFloor = 300_000 }
        #expect(floor[0] == floor[1])
    }

    /// The encoder that is open goes on, and keeps to it.
    @Test func theOutputKeepsToTheLimit() throws {
        let scratch = try Scratch()
        let stream = try TestStream.video(frames: 180)
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(stream, to: "in.ts")), output: .file(path: scratch.path("out.ts")))
        configuration.pacesFiles = false
        configuration.settings.budget = .seconds(60)
        configuration.settings.bits = 1
        configuration.watchesMachine = false
        let limits = Lock<[Int?]>([])
        configuration.makeEncoder = { (configuration) throws(CodecError) in
            limits.withLock { $0.append(configuration.rateControl.maximumRate) }
            return try VideoEncoder(configuration)
        }
        let relay = try Relay(configuration)
        _ = try relay.run { _ in }
        let input = relay.channels.outputRate.input
        let samples = 320 * 192 * 30
        #expect(input > 0 && limits.withLock { $0.count } == 1)
        #expect(relay.channels.outputRate.ceiling == min(samples / 5, max(input, samples / 100)))
    }
}
