import Bitstream
import Endpoint
import EnhanceNetworks
import Media
import Schedule
import Settings
import TestStreams
import Testing
import Transport
@testable import Container
@testable import Relay

/// An output that is chosen to fit the machine.
@Suite(.timeLimit(.minutes(3))) struct ChosenOutputTests {
    /// - Parameter encode: what encoding costs, in nanoseconds for each pixel.
    private func ladder(encode: Double) -> OutputLadder {
        let stream = OutputLadder.Stream(input: PictureSize(width: 160, height: 96), interval: .seconds(1 / 30))
        var costs = OutputLadder.Costs()
        costs.encode = encode
        return OutputLadder(stream, best: .double, preset: .superfast, mayShrink: true, costs: costs)
    }

    @Test func whatIsChosenIsReported() {
        let chosen = ChosenOutput()
        #expect(chosen.current == nil)
        #expect(chosen.begin(ladder(encode: 9), cores: Cores(2)) == nil)
        #expect(chosen.current == OutputChoice(size: .double, preset: .superfast))
        let text = chosen.begin(ladder(encode: 700), cores: Cores(2))
        #expect(text == "needs 3 of 2 cores at 320x192 with superfast: sends 240x144 with ultrafast", "\(text ?? "")")
        #expect(chosen.current == OutputChoice(size: .oneAndHalf, preset: .ultrafast))
        let better = chosen.place?.better
        #expect(better?.choice == OutputChoice(size: .double, preset: .ultrafast) && better.map { $0.cores > 0.7 } == true)
        let bypass = chosen.begin(ladder(encode: 8000), cores: Cores(2))
        #expect(bypass?.hasSuffix("sends pictures as they come") == true && chosen.current?.isBypass == true)
    }

    @Test func theContentIsKnown() {
        let chosen = ChosenOutput()
        #expect(chosen.content == nil)
        for content in [NetworkContent.calls, .general, nil] {
            chosen.content = content
            #expect(chosen.content == content)
        }
    }

    @Test func thatNothingIsWorthAnEncodeIsReported() {
        let stream = OutputLadder.Stream(input: PictureSize(width: 2560, height: 1440), interval: .seconds(1 / 30))
        let ladder = OutputLadder(
            stream, best: .oneAndHalf, preset: .superfast, mayShrink: true, purpose: .refinement, costs: .init())
        let chosen = ChosenOutput()
        let text = chosen.begin(ladder, cores: Cores(16))
        let reason = "too large to be enlarged by networks, and without them an encode gives nothing"
        #expect(text == "2560x1440: \(reason); sends pictures as they come")
        #expect(chosen.place?.text == "pictures as they come: \(reason)" && chosen.current?.isBypass == true)
    }

    /// What needs an encode whatever the size is.
    @Test func picturesAreEncodedForAPurpose() {
        func purpose(
            _ format: (inout VideoParameters) -> Void = { _ in }, _ adjust: (inout RelayConfiguration) -> Void = { _ in }
        ) -> OutputLadder.Purpose {
            var configuration = RelayConfiguration(input: .standardStream, output: .standardStream)
            adjust(&configuration)
            var parameters = VideoParameters(codec: .h264, size: PictureSize(width: 1920, height: 1080))
            format(&parameters)
            return configuration.purpose(of: parameters, configuration.settings)
        }
        #expect(purpose() == .refinement)
        #expect(purpose({ $0.codec = .hevc }) == .change)
        #expect(purpose({ $0.bitDepth = 10 }) == .change)
        #expect(purpose({ $0.isProgressive = false }) == .change)
        #expect(purpose({ $0.isProgressive = false }, { $0.settings.steps.deinterlace = .off }) == .refinement)
        #expect(purpose({ _ in }, { $0.options.fps = Rational(60) }) == .change)
        #expect(purpose({ _ in }, { $0.settings.interpolate = 2 }) == .change)
        #expect(purpose({ _ in }, { $0.settings.bitRateFloor = 1_000_000 }) == .change)
        #expect(purpose({ _ in }, { $0.settings.bits = 0.5 }) == .change)
        #expect(purpose({ _ in }, { $0.settings.steps.denoise = nil }) == .change)
        #expect(purpose({ _ in }, { $0.settings.steps.crop = .init("50%x50%") }) == .change)
        #expect(
            purpose({ _ in }, { $0.settings.steps.mask = PrivacyMask([.init(x: 0, y: 0, width: 9, height: 9, .blur(8))]) })
                == .change)
        #expect(purpose({ _ in }, { $0.options.scale = .same }) == .size)
        #expect(purpose({ _ in }, { $0.options.size = PictureSize(width: 2880, height: 1620) }) == .size)
    }

    /// A transport stream cannot hold VP8, so bypass is no choice for it.
    @Test(arguments: [StreamCodec.h264, .hevc, .vp8], [false, true])
    func bypassIsAChoiceWhereItIsPossible(codec: StreamCodec, keepSize: Bool) throws {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(input: .standardStream, output: .file(path: scratch.path("out.ts")))
        configuration.options.keepSize = keepSize
        let channels = StreamChannels(configuration)
        let output = SendStage(
            sinks: [try Sink(configuration.outputs[0])], passing: PassingStreams(), channels: channels)
        let router = PictureRouter(
            queue: UnitQueue(books: channels.books), output: output, mode: .enhance, mayWait: true, channels: channels)
        router.beginStream(
            ElementaryStreamDescription(id: 256, streamType: 6, codec: codec, role: .mainVideo, descriptors: []))
        #expect(router.mayChooseBypass == (codec != .vp8 && !keepSize))
    }

    /// From one picture to the next the output has another size and preset. No picture is lost.
    @Test func theOutputChangesBetweenTwoPictures() throws {
        let scratch = try Scratch()
        var configuration = RelayConfiguration(
            input: .file(path: try scratch.write(TestStream.video(frames: 75), to: "in.ts")),
            output: .file(path: scratch.path("out.ts")))
        configuration.settings.budget = .seconds(60)
        configuration.watchesMachine = false
        configuration.awaitsProcessors = true
        let relay = try Relay(configuration)
        let sizes = Lock<[String]>([])
        let report = try relay.run { observation in
            switch observation {
            case .event(.picture(_, let output)): sizes.withLock { $0.append("\(output)") }
            case .event: break
            // On a busy machine the first picture may take longer than a second.
            case .second where sizes.withLock { $0.isEmpty }: break
            case .second: _ = relay.channels.chosen.begin(ladder(encode: 700), cores: Cores(2))
            }
        }
        #expect(sizes.withLock { $0 } == ["320x192", "240x144"])
        #expect(report.frames.emitted == 75 && report.frames.balance)
        let units = TestStream.units(in: try scratch.read("out.ts"))
        #expect(units.count == 75)
        #expect(zip(units, units.dropFirst()).allSatisfy { $0.presentation < $1.presentation })
    }
}
