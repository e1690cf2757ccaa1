import Media
import Testing
@testable import Schedule

@Suite struct CostModelTests {
    func model() -> CostModel {
        let size = PictureSize(width: 640, height: 360)
        return CostModel(input: size, output: size.scaled(by: 2), tilePixels: 4_096)
    }

    func observe(_ model: inout CostModel, _ times: Int, factor: Double, tiles: Bool) {
        for _ in 0..<times {
            model.observe(.decode, .milliseconds(2 * factor))
            model.observe(.base, .milliseconds(3 * factor))
            model.observe(.encode, .milliseconds(8 * factor))
            if tiles { model.observe(.tile(.neuralM), .milliseconds(10 * factor), units: 40) }
        }
    }

    @Test func forgetsTheSeedsAtTheFirstObservation() {
        var model = model()
        model.observe(.base, .milliseconds(30))
        #expect(model[.base].mean == 30e6)
    }

    @Test func costsRiseQuicklyAndFallSlowly() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: true)
        observe(&model, 4, factor: 2, tiles: true)
        #expect(model[.base].high > 5.5e6 && model[.base].mean > 5e6)
        observe(&model, 4, factor: 1, tiles: true)
        #expect(model[.base].high > 5e6)
        observe(&model, 40, factor: 1, tiles: true)
        #expect(model[.base].high < 3.4e6 && model[.base].mean < 3.1e6)
    }

    /// What threads have had of processors tells what work takes when nobody interrupts it, however often that happens.
    @Test func workThatIsAlwaysInterruptedIsKnown() {
        var model = model()
        for _ in 0..<30 { model.observe(.synthesise, .milliseconds(20), uninterrupted: .milliseconds(6)) }
        #expect(abs(model[.synthesise].low - 6e6) < 1 && abs(model[.synthesise].mean - 20e6) < 1)
        for _ in 0..<30 { model.observe(.synthesise, .milliseconds(20), uninterrupted: .milliseconds(9)) }
        #expect(abs(model[.synthesise].low - 9e6) < 0.1e6)
        // It cannot have taken longer than it took.
        for _ in 0..<30 { model.observe(.synthesise, .milliseconds(4), uninterrupted: .milliseconds(9)) }
        #expect(abs(model[.synthesise].low - 4e6) < 0.1e6)
    }

    @Test func oneSpikeMovesTheMeanLittle() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: false)
        model.observe(.encode, .milliseconds(800))
        #expect(model[.encode].mean < 8e6 * 1.4)
    }

    @Test func oneSpikeIsNoSlowdown() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: false)
        model.observe(.encode, .milliseconds(800))
        #expect(model.suddenSlowdown == 1)
        model.observe(.tile(.neuralM), .milliseconds(100), units: 1)
        #expect(model.suddenSlowdown == 1)
    }

    @Test func aKeyframeIsNoSlowdown() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: false)
        model.observe(.decode, .milliseconds(14))
        model.observe(.base, .milliseconds(3))
        model.observe(.encode, .milliseconds(16))
        #expect(model.suddenSlowdown == 1)
    }

    @Test func twoKindsOfWorkShowASuddenSlowdown() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: true)
        model.observe(.decode, .milliseconds(8))
        #expect(model.suddenSlowdown == 1 && model[.decode].mean < 2e6 * 1.4)
        model.observe(.base, .milliseconds(9))
        #expect(abs(model.suddenSlowdown - 3) < 0.01, "encode has not been observed yet")
        #expect(abs(model.slowdownReserve - 4.5) < 0.02, "the whole slowdown may be half as much again")
        #expect(abs(model[.base].mean - 6e6) < 0.1e6, "it moves half of the way at once")
        // The usual costs are no slowdown.
        model.observe(.base, .milliseconds(3))
        model.observe(.encode, .milliseconds(8))
        #expect(model.suddenSlowdown == 1 && model.slowdownReserve == 1)
    }

    /// One stall of the whole machine, during two kinds of work.
    @Test func aStallIsSoonForgotten() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: false)
        model.observe(.base, .milliseconds(300))
        model.observe(.encode, .milliseconds(310))
        #expect(model.suddenSlowdown == 4 && model[.encode].mean <= 8e6 * 2.5)
        observe(&model, 12, factor: 1, tiles: false)
        #expect(model[.encode].mean < 8e6 * 1.4 && model.suddenSlowdown == 1)
    }

    @Test func thePeakHoldsASpikeForASecondOrTwo() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: false)
        model.observe(.encode, .milliseconds(40))
        #expect(model[.encode].peak == 40e6)
        observe(&model, 30, factor: 1, tiles: false)
        #expect(model[.encode].peak > 16e6)
        observe(&model, 90, factor: 1, tiles: false)
        #expect(model[.encode].peak < 10e6)
        model.observe(.encode, .milliseconds(8_000))
        #expect(model[.encode].peak < 70e6)
    }

    @Test func workThatDoesNotRunAgesWithTheMachine() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: true)
        let before = model[.tile(.neuralM)].mean
        observe(&model, 30, factor: 2, tiles: false)
        #expect(abs(model[.tile(.neuralM)].mean / before - 2) < 0.1)
        observe(&model, 60, factor: 1, tiles: false)
        #expect(abs(model[.tile(.neuralM)].mean / before - 1) < 0.1)
    }

    @Test func oneSlowStageIsNoSlowMachine() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: true)
        let before = model[.tile(.neuralM)].mean
        for _ in 0..<30 { model.observe(.encode, .milliseconds(30)) }
        #expect(abs(model[.tile(.neuralM)].mean / before - 1) < 0.05)
    }

    @Test func costsGoWithThePixelsAndComeBack() {
        var model = model()
        observe(&model, 50, factor: 1, tiles: true)
        let before = model[.decode].mean
        model.resize(inputs: 4, outputs: 4)
        #expect(abs(model[.decode].mean / before - 4) < 1e-9)
        #expect(model[.tile(.neuralM)].mean == 0.25e6)
        model.resize(inputs: 0.25, outputs: 0.25)
        #expect(abs(model[.decode].mean / before - 1) < 1e-9)
    }

    @Test func invalidCostsDoNoHarm() {
        var model = model()
        model.observe(.base, Nanoseconds(-5))
        model.observe(.base, Nanoseconds(.max))
        model.observe(.tile(.neuralS), .milliseconds(3), units: 0)
        #expect(model[.base].mean.isFinite && model[.base].mean >= 1)
        #expect(!model.hasObserved(.tile(.neuralS)))
    }
}
