import Enhance
import Media
import Testing

/// Adds a number to every sample.
private final class Adding: PictureStep {
    let kind: StepKind
    let lookahead: Int
    private let addend: UInt8
    private var waiting: [UInt8] = []
    private var hasEnded = false
    /// The quantisers that it was told of, and the times to stop.
    private(set) var quantisers: [Int?] = []
    private(set) var stops: [MonotonicTime?] = []
    private(set) var resets = 0

    init(_ kind: StepKind, _ addend: UInt8, lookahead: Int = 0) {
        self.kind = kind
        self.addend = addend
        self.lookahead = lookahead
    }

    func process(
        _ input: StepInput?, into output: MutablePictureView, _ parameters: StepParameters
    ) throws(EnhanceError) -> StepOutcome {
        if let input {
            precondition(!hasEnded, "a picture came after the last one")
            quantisers.append(parameters.quantiser)
            stops.append(parameters.until)
            waiting.append(input.picture.y.row(0)[0])
        }
        guard waiting.count > lookahead || hasEnded && !waiting.isEmpty else { return .pending }
        let value = waiting.removeFirst() &+ addend
        for plane in [output.y, output.u, output.v] {
            for y in 0..<plane.height { plane.row(y).update(repeating: value, count: plane.width) }
        }
        return .written
    }

    func finish() { hasEnded = true }
    func reset() { resets += 1 }
}

/// The steps at one place.
@Suite struct StepRunTests {
    private let size = PictureSize(width: 6, height: 4)

    /// Views of a picture are valid as long as the picture is.
    private final class Kept {
        var pictures: [TestPicture] = []
    }
    private let kept = Kept()

    /// A picture that lives as long as the test.
    private func picture(_ value: UInt8) -> TestPicture {
        let picture = TestPicture(size) { _, _, _ in value }
        kept.pictures.append(picture)
        return picture
    }

    private func value(_ view: PictureView?) -> UInt8? { view.map { $0.y.row(0)[0] } }

    private func times() -> StepValues<Nanoseconds> { StepValues(blank: .zero) }

    @Test func withoutStepsThePictureGoesOnAsItCame() throws {
        let run = StepRun(size: size)
        var times = times()
        let given = picture(7)
        let out = try run.process(StepInput(given.view), StepParameters(StepSettings(), quantiser: 3), &times)
        #expect(out?.quantiser == 3 && times.kinds.isEmpty && run.result == nil)
        #expect(run.result(of: given.view).y.base == given.view.y.base)
    }

    /// Their order is the table's, whatever the order in which they were given. The picture that was given is not written to.
    @Test func stepsAreSorted() throws {
        let (first, second) = (Adding(.deinterlace, 1), Adding(.denoise, 10))
        for steps in [[first, second], [second, first]] {
            let run = StepRun(size: size, steps)
            var times = times()
            let given = picture(100)
            try run.process(StepInput(given.view), StepParameters(StepSettings()), &times)
            #expect(value(run.result) == 111 && given.sample(0, 0, 0) == 100 && run.kinds == [.deinterlace, .denoise])
            #expect(times[.deinterlace] != nil && times[.denoise] != nil && times[.sharpen] == nil)
        }
    }

    /// What need not be done is told when to stop. What must be done is not.
    @Test func whatMustBeDoneHasNoTimeToStop() throws {
        let (must, may) = (Adding(.deinterlace, 1), Adding(.denoise, 1))
        let run = StepRun(size: size, [must, may])
        var times = times()
        let stop = MonotonicTime(nanoseconds: 5)
        try run.process(StepInput(picture(0).view), StepParameters(StepSettings(), until: stop), &times)
        #expect(must.stops == [nil] && may.stops == [stop])
    }

    @Test func aStepThatIsNotWantedIsLeftOut() throws {
        let run = StepRun(size: size, [Adding(.deinterlace, 1), Adding(.denoise, 10)])
        var times = times()
        for (kinds, sum) in [([.denoise], 10), ([.deinterlace], 1)] as [(StepSet, UInt8)] {
            try run.process(StepInput(picture(0).view), StepParameters(StepSettings()), &times, only: kinds)
            #expect(value(run.result) == sum)
        }
        try run.process(StepInput(picture(0).view), StepParameters(StepSettings()), &times, only: [])
        #expect(run.result == nil)
    }

    @Test func aStepTakesThePlaceOfAnother() throws {
        let run = StepRun(size: size, [Adding(.deinterlace, 1), Adding(.denoise, 10)])
        run.insert(PlacedStep(Adding(.deinterlace, 2), size: size))
        var times = times()
        try run.process(StepInput(picture(0).view), StepParameters(StepSettings()), &times)
        #expect(value(run.result) == 12)
    }

    /// Pictures come out in their order, each with its own parameters, whichever steps look ahead.
    @Test(arguments: [(0, 0), (3, 0), (0, 3), (2, 3)], [0, 1, 2, 9])
    func picturesThatWaitComeOutInOrder(lookaheads: (Int, Int), count: Int) throws {
        let steps = [Adding(.deinterlace, 1, lookahead: lookaheads.0), Adding(.denoise, 10, lookahead: lookaheads.1)]
        let run = StepRun(size: size, steps)
        #expect(run.lookahead == lookaheads.0 + lookaheads.1)
        var times = times()
        var out: [(value: UInt8?, quantiser: Int?)] = []
        for number in 0..<count {
            let given = picture(UInt8(20 * number))
            let parameters = StepParameters(StepSettings(), quantiser: number)
            guard let done = try run.process(StepInput(given.view), parameters, &times) else { continue }
            out.append((value(run.result), done.quantiser))
        }
        #expect(out.count == max(0, count - run.lookahead))
        while let done = try run.drain(&times) { out.append((value(run.result), done.quantiser)) }
        #expect(out.map(\.value) == (0..<count).map { UInt8(20 * $0 + 11) })
        #expect(out.map(\.quantiser) == Array(0..<count))
        #expect(steps[1].quantisers == Array(0..<count))
    }

    /// A step that changes a part of a picture gets a copy of it, once.
    @Test func theCallersPictureIsNotWrittenTo() throws {
        for steps in [[Adding(.sharpen, 10)], [Adding(.denoise, 4), Adding(.sharpen, 6)]] {
            let run = StepRun(size: size, steps)
            var times = times()
            let given = picture(100)
            try run.process(StepInput(given.view), StepParameters(StepSettings()), &times)
            #expect(value(run.result) == 110 && given.difference(from: picture(100)) == nil)
        }
    }

    @Test func resultsAreChangedInPlace() throws {
        let run = StepRun(size: size, [Adding(.denoise, 10)])
        var times = times()
        let picture = picture(1)
        try run.process(in: picture.mutableView, StepParameters(StepSettings()), &times)
        #expect(picture.sample(0, 5, 3) == 11 && picture.paddingIsIntact && times[.denoise] != nil)
    }

    @Test func afterAResetNothingWaits() throws {
        let step = Adding(.denoise, 10, lookahead: 2)
        let run = StepRun(size: size, [step])
        var times = times()
        _ = try run.process(StepInput(picture(0).view), StepParameters(StepSettings()), &times)
        run.reset()
        #expect(try step.resets == 1 && run.drain(&times) == nil)
    }
}

/// The table of steps.
@Suite struct StepKindTests {
    @Test func everyValueHasRoom() {
        #expect(StepKind.allCases.count <= StepKind.capacity)
        var values = StepValues(blank: 0)
        for kind in StepKind.allCases { values[kind] = Int(kind.rawValue) + 1 }
        #expect(StepKind.allCases.map { values[$0] } == StepKind.allCases.map { Int($0.rawValue) + 1 })
        values[.denoise] = nil
        #expect(values[.denoise] == nil && !values.kinds.contains(.denoise) && values[.enlarge] != nil)
    }

    @Test func namesAreTheirOwn() {
        #expect(Set(StepKind.allCases.map(\.name)).count == StepKind.allCases.count)
        #expect(StepKind.allCases.allSatisfy { $0.name.allSatisfy { ("a"..."z").contains($0) } })
    }

    /// The order of the table is the order of the places.
    @Test func placesFollowEachOther() {
        let places = StepKind.allCases.map(\.facts.place.rawValue)
        #expect(places == places.sorted())
    }

    @Test func aSetGivesItsKindsInOrder() {
        let set: StepSet = [.denoise, .deinterlace]
        #expect(Array(set) == [.deinterlace, .denoise] && Array(StepSet()).isEmpty)
        #expect(Array(StepSet.all) == StepKind.allCases && StepSet.must.contains(.deinterlace))
        #expect(set.subtracting([.denoise]) == [.deinterlace] && set.intersection([.denoise]) == [.denoise])
    }

    /// A new value has no step that changes pictures, but for interlaced ones.
    @Test func withoutSettingsStepsAreNeutral() {
        let settings = StepSettings()
        #expect(settings.active(at: .source).isEmpty && settings.active(at: .result).isEmpty)
        #expect(settings.active(at: .decoded) == [.deinterlace])
    }

    /// Whatever stands at a place of single pictures can be made, and is what it says.
    @Test(arguments: StepKind.allCases, [false, true]) func everyStepCanBeMade(kind: StepKind, lookingAhead: Bool) throws {
        let facts = kind.facts
        let isSingle = [.decoded, .source, .result].contains(facts.place)
        let step = try StepSettings().makeStep(
            kind, size: PictureSize(width: 32, height: 16), lookingAhead: lookingAhead, workers: WorkerPool(threadCount: 1))
        #expect(step.map { $0.kind } == (isSingle ? kind : nil))
        if let step, !lookingAhead { #expect(step.lookahead == 0) }
        // The planner has a cost for every step on single pictures that is not part of other work.
        #expect((facts.seed != nil) == [.source, .result].contains(facts.place))
    }
}
