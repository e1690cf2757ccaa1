import Media
import Testing

@testable import Relay

/// One size for viewers, while a publisher changes theirs.
struct HeldSizeTests {
    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func size(_ width: Int, _ height: Int) -> PictureSize { PictureSize(width: width, height: height) }

    /// What pictures of each size leave at, one second after the other, as ingest asks.
    private func outputs(_ inputs: [(Int, Int)], every interval: Nanoseconds = .seconds(1)) -> [PictureSize] {
        var held = HeldSize()
        var now = start
        return inputs.map { width, height in
            let input = size(width, height)
            let output = held.output(for: input, usual: .double, at: now).size(of: input)
            held.record(output)
            now = now + interval
            return output
        }
    }

    /// As Firefox begins.
    @Test func aPictureThatGrowsLeavesAtItsFirstSize() {
        let outputs = outputs([(320, 180), (480, 270), (640, 360), (424, 238), (320, 180), (160, 90)])
        #expect(outputs.allSatisfy { $0 == size(640, 360) }, "\(outputs)")
    }

    /// Nobody gets fewer pixels than came, and no picture is squeezed.
    @Test func aLargerPictureAndOneOfAnotherShapeGetTheirOwn() {
        #expect(outputs([(320, 180), (960, 540), (640, 360)]) == [size(640, 360), size(1920, 1080), size(1920, 1080)])
        #expect(outputs([(320, 180), (180, 320)]) == [size(640, 360), size(360, 640)])
        #expect(outputs([(320, 180), (320, 240)]).last == size(640, 480))
    }

    /// A picture that stays large gets its usual output, once.
    @Test func theOutputGrowsWhenThePictureHasKeptItsSize() {
        var held = HeldSize()
        _ = held.output(for: size(320, 180), usual: .double, at: start)
        held.record(size(640, 360))
        #expect(!held.isOver(at: start + .seconds(1000)))
        let grown = held.output(for: size(640, 360), usual: .double, at: start)
        #expect(grown == .exactly(size(640, 360)) && !held.isOver(at: start + .seconds(59)))
        // Another size begins the time anew. The same size does not.
        _ = held.output(for: size(480, 270), usual: .double, at: start + .seconds(30))
        _ = held.output(for: size(480, 270), usual: .double, at: start + .seconds(80))
        #expect(!held.isOver(at: start + .seconds(89)) && held.isOver(at: start + .seconds(90)))
        let usual = held.output(for: size(480, 270), usual: .double, at: start + .seconds(90))
        held.record(size(960, 540))
        #expect(usual == .double && !held.isOver(at: start + .seconds(10_000)))
    }

    /// What leaves as it came holds nothing, and neither does what was sent before a pause.
    @Test func nothingIsHeldOfABypassOrALongPause() {
        var held = HeldSize()
        _ = held.output(for: size(320, 180), usual: .double, at: start)
        held.record(nil)
        let passed = held.output(for: size(480, 270), usual: .double, at: start)
        #expect(passed == .double)
        held.record(size(960, 540))
        held.lose(at: start + .seconds(1))
        let again = held.output(for: size(320, 180), usual: .double, at: start + .seconds(11))
        #expect(again == .exactly(size(960, 540)))
        held.lose(at: start + .seconds(20))
        let later = held.output(for: size(320, 180), usual: .double, at: start + .seconds(30.1))
        #expect(later == .double)
    }
}
