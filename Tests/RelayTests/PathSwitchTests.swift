import Media
import Telemetry
import Testing
@testable import Relay

/// The way of pictures past the encoder and back, picture by picture and without any.
@Suite struct PathSwitchTests {
    /// A coded picture of a source, in decoding order.
    private struct Coded {
        var number: Int
        var presentation: Int
        var decode: Int
        var entry: PathSwitch.EntryPoint?
        /// The numbers of the pictures that must be decoded for it, without the group's first.
        var group: Int
        /// It refers to the group before, too.
        var isLeading = false
    }

    /// Groups of pictures with reordering.
    /// - Parameters:
    ///   - reordered: how many pictures between two that are shown in order.
    ///   - isOpen: each group but the first begins with pictures that are shown before its entry point.
    private func source(groups: Int, length: Int, reordered: Int, isOpen: Bool) -> [Coded] {
        var pictures: [Coded] = []
        let step = 3_000
        for group in 0..<groups {
            let base = group * length
            // Places of the group's anchors. In an open group the pictures before the first anchor are shown before it.
            let lead = isOpen && group > 0 ? reordered : 0
            var shown = base
            var anchors: [(place: Int, before: [Int])] = []
            while shown < base + length {
                let isFirst = anchors.isEmpty
                let between = isFirst ? lead : reordered
                let place = min(shown + between, base + length - 1)
                anchors.append((place, Array(shown..<place)))
                shown = place + 1
            }
            for (index, anchor) in anchors.enumerated() {
                var entry: PathSwitch.EntryPoint?
                if index == 0 { entry = .init(isRefresh: !isOpen || group == 0) }
                for (place, isAnchor) in [(anchor.place, true)] + anchor.before.map({ ($0, false) }) {
                    pictures.append(
                        Coded(
                            number: pictures.count, presentation: (place + reordered) * step, decode: pictures.count * step,
                            entry: isAnchor ? entry : nil, group: group, isLeading: index == 0 && !isAnchor))
                }
            }
        }
        return pictures
    }

    /// Every picture goes out once, by the way on which it can be decoded; presentation and decoding times stay in order.
    /// - Parameter tellsLeading: the headers tell leading pictures, and not only their times.
    @Test(arguments: [0, 1, 3], [(false, false), (true, false), (true, true)])
    func nothingIsLostOrRepeated(reordered: Int, kind: (isOpen: Bool, tellsLeading: Bool)) {
        let (isOpen, tellsLeading) = kind
        var random = SplitMix64(seed: UInt64(reordered))
        for _ in 0..<40 {
            let pictures = source(groups: 12, length: 12, reordered: reordered, isOpen: isOpen)
            var paths = PathSwitch()
            var wishes = PathSwitch.Wishes()
            // What the decoder has since its run began, and what receivers have that came by bypass.
            var decoded: Set<Int> = []
            var bypassedGroups: Set<Int> = []
            var enhanced: [Coded] = []
            var bypassed: [Coded] = []
            var times = DecodeTimes()
            var held: [Coded] = []
            var sent: [(presentation: Int64, decode: Int64)] = []
            func send(_ picture: Coded, _ fate: FrameFate) {
                var unit = CodedUnit(
                    presentation: MediaTime(ticks: Int64(picture.presentation)),
                    decode: MediaTime(ticks: Int64(fate == .bypassed ? picture.decode : picture.presentation)),
                    isKeyframe: picture.entry != nil, fate: fate)
                times.settle(&unit)
                sent.append((unit.presentation.ticks, unit.decode.ticks))
            }
            /// The encoder sends what has been decoded, in the order in which it is shown.
            func showDecoded() {
                for picture in enhanced.sorted(by: { $0.presentation < $1.presentation }) { send(picture, .emitted) }
                enhanced = []
            }
            for picture in pictures {
                if random.next() % 9 == 0 { wishes.mode.toggle() }
                if !paths.isLeaving, !held.isEmpty {
                    showDecoded()
                    for each in held { send(each, .bypassed) }
                    held = []
                }
                var facts = PathSwitch.Picture(MediaTime(ticks: Int64(picture.presentation)))
                facts.entry = picture.entry
                facts.leads = tellsLeading ? picture.isLeading : nil
                let decision = paths.decide(facts, wishes, isSettled: held.isEmpty)
                if decision.endsRun {
                    decoded = []
                    if held.isEmpty { showDecoded() }
                }
                switch decision.step {
                case .enhance:
                    decoded.insert(picture.number)
                    let entry = pictures.first { $0.group == picture.group }!.number
                    #expect(decoded.contains(entry), "picture \(picture.number) is decoded without its entry point")
                    if picture.isLeading {
                        #expect(pictures.contains { $0.group == picture.group - 1 && decoded.contains($0.number) })
                    }
                    enhanced.append(picture)
                case .prime, .bypass:
                    if decision.step == .prime { decoded.insert(picture.number) }
                    if picture.isLeading { #expect(bypassedGroups.contains(picture.group - 1)) }
                    bypassedGroups.insert(picture.group)
                    bypassed.append(picture)
                    if paths.isLeaving || !held.isEmpty { held.append(picture) } else { send(picture, .bypassed) }
                }
                // Without a bypass the encoder sends what cannot be overtaken any more.
                if held.isEmpty, decision.step == .enhance {
                    let due = enhanced.filter { $0.presentation <= picture.decode }
                    for each in due.sorted(by: { $0.presentation < $1.presentation }) { send(each, .emitted) }
                    enhanced.removeAll { $0.presentation <= picture.decode }
                }
            }
            showDecoded()
            for each in held { send(each, .bypassed) }
            #expect(sent.count == pictures.count)
            #expect(Set(sent.map(\.presentation)) == Set(pictures.map { Int64($0.presentation) }))
            #expect(sent.allSatisfy { $0.decode <= $0.presentation })
            #expect(zip(sent.dropFirst(), sent).allSatisfy { $0.decode > $1.decode })
        }
    }

    private func decide(
        _ paths: inout PathSwitch, _ time: Int64, _ entry: PathSwitch.EntryPoint? = nil, mode: Bool = false,
        isForced: Bool = false, isSettled: Bool = true, adjust: (inout PathSwitch.Picture) -> Void = { _ in }
    ) -> PathSwitch.Decision {
        var picture = PathSwitch.Picture(MediaTime(ticks: time))
        picture.entry = entry
        adjust(&picture)
        return paths.decide(picture, PathSwitch.Wishes(mode: mode, isForced: isForced), isSettled: isSettled)
    }

    @Test func aStreamWithoutEntryPointsStaysWhereItIs() {
        var paths = PathSwitch()
        #expect(decide(&paths, 0) == .init(step: .enhance))
        for n in 1..<100 { #expect(decide(&paths, Int64(n), mode: true) == .init(step: .enhance)) }
    }

    /// What cannot be enhanced does not wait for an entry point that does not come.
    @Test func aStreamWithoutEntryPointsPassesWhereItMust() {
        var paths = PathSwitch()
        #expect(decide(&paths, 0) == .init(step: .enhance))
        #expect(decide(&paths, 1, isForced: true) == .init(step: .enhance))
        let (picture, wishes) = (
            PathSwitch.Picture(MediaTime(ticks: 2)), PathSwitch.Wishes(mode: false, isForced: true, hasNoEntries: true)
        )
        #expect(paths.decide(picture, wishes, isSettled: false) == .init(step: .enhance))
        #expect(paths.decide(picture, wishes, isSettled: true) == .init(step: .bypass, endsRun: true))
        #expect(decide(&paths, 3) == .init(step: .bypass))
        #expect(decide(&paths, 4, .init()) == .init(step: .enhance, beginsRun: true))
    }

    /// Nothing has gone out yet that the next pictures could contradict.
    @Test func aStreamThatBeginsBypassedWaitsForNothing() {
        var paths = PathSwitch()
        #expect(decide(&paths, 0, mode: true) == .init(step: .bypass))
        #expect(paths.isBypassed)
        #expect(decide(&paths, 1) == .init(step: .bypass))
        #expect(decide(&paths, 2, .init()) == .init(step: .enhance, beginsRun: true))
        // Another stream.
        paths.beginStream()
        #expect(decide(&paths, 3, mode: true) == .init(step: .bypass, endsRun: true))
    }

    @Test func theWayDoesNotChangeBeforeTheLastChangeIsOver() {
        var paths = PathSwitch()
        #expect(decide(&paths, 0, .init()).step == .enhance)
        #expect(decide(&paths, 1, .init(), mode: true, isSettled: false) == .init(step: .enhance))
        #expect(decide(&paths, 2, .init(), mode: true) == .init(step: .bypass, endsRun: true))
        #expect(decide(&paths, 3, .init(), isSettled: false) == .init(step: .bypass))
        #expect(decide(&paths, 4, .init()) == .init(step: .enhance, beginsRun: true))
    }

    /// Receivers of our H.264 cannot begin another sequence there. It is a place to return.
    @Test func anOpenGroupOfH264() {
        let open = PathSwitch.EntryPoint(isRefresh: false, beginsSequence: false)
        var paths = PathSwitch()
        #expect(decide(&paths, 0, .init()).step == .enhance)
        #expect(decide(&paths, 1, open, mode: true) == .init(step: .enhance))
        #expect(decide(&paths, 2, .init(), mode: true).step == .bypass)
        #expect(decide(&paths, 9, open) == .init(step: .prime))
        #expect(decide(&paths, 7) == .init(step: .bypass))
        #expect(decide(&paths, 10) == .init(step: .enhance, beginsRun: true))
    }

    /// A gradual refresh takes three pictures: no place to begin a bypass on command, and a place to end one.
    @Test func aGradualRefresh() {
        let refresh = PathSwitch.EntryPoint(isRefresh: false, recovery: 3)
        var paths = PathSwitch()
        #expect(decide(&paths, 0, .init()).step == .enhance)
        #expect(decide(&paths, 1, refresh, mode: true) == .init(step: .enhance))
        #expect(decide(&paths, 2, refresh, isForced: true) == .init(step: .bypass, endsRun: true))
        #expect(decide(&paths, 3, refresh).step == .prime)
        #expect(decide(&paths, 4).step == .prime)
        #expect(decide(&paths, 5).step == .prime)
        #expect(decide(&paths, 6) == .init(step: .enhance, beginsRun: true))
        #expect(decide(&paths, 7, .init(), mode: true).step == .bypass)
        // The wish comes back while the decoder is primed.
        #expect(decide(&paths, 8, refresh).step == .prime)
        #expect(decide(&paths, 9, mode: true) == .init(step: .bypass, endsRun: true))
        #expect(paths.isBypassed)
    }

    /// Nothing tells which pictures lead: only a bypass that must be begins there, and none ends.
    @Test func anEntryPointWhoseLeadingPicturesAreUnknown() {
        let unknown = PathSwitch.EntryPoint(isRefresh: false, isSafe: false)
        var paths = PathSwitch()
        #expect(decide(&paths, 0, .init()).step == .enhance)
        #expect(decide(&paths, 1, unknown, mode: true) == .init(step: .enhance))
        #expect(decide(&paths, 2, unknown, isForced: true) == .init(step: .bypass, endsRun: true))
        #expect(decide(&paths, 3, unknown) == .init(step: .bypass))
        #expect(decide(&paths, 4, .init()) == .init(step: .enhance, beginsRun: true))
    }

    private func bypassed() -> PathSwitch {
        var paths = PathSwitch()
        #expect(decide(&paths, 0, mode: true).step == .bypass)
        return paths
    }

    /// A refresh counts the pictures that others refer to. It ends at one that is shown after all that went out.
    @Test func aGradualRefreshWithBPictures() {
        var paths = bypassed()
        #expect(decide(&paths, 10, .init(isRefresh: false, recovery: 2)).step == .prime)
        #expect(decide(&paths, 40).step == .prime)
        for time in [20, 30] as [Int64] { #expect(decide(&paths, time) { $0.advancesRefresh = false }.step == .prime) }
        // The count is complete with 40, and the others are shown before it.
        #expect(decide(&paths, 70).step == .enhance)
        paths = bypassed()
        #expect(decide(&paths, 10, .init(isRefresh: false, recovery: 3)).step == .prime)
        #expect(decide(&paths, 70).step == .prime && decide(&paths, 40).step == .prime)
        #expect(decide(&paths, 50) { $0.advancesRefresh = false }.step == .prime)
        #expect(decide(&paths, 80) == .init(step: .enhance, beginsRun: true))
    }

    /// A count that no stream can mean is no refresh. A shorter refresh takes the place of a longer one.
    @Test func aRefreshIsBounded() {
        var paths = bypassed()
        #expect(decide(&paths, 1, .init(isRefresh: false, recovery: 65_535)) == .init(step: .bypass))
        #expect(decide(&paths, 2, .init(isRefresh: false, recovery: 300)).step == .prime)
        #expect(decide(&paths, 3, .init(isRefresh: false, recovery: 2)).step == .prime)
        #expect(decide(&paths, 4).step == .prime)
        #expect(decide(&paths, 5) == .init(step: .enhance, beginsRun: true))
        // Times that stay behind end it, too.
        paths = bypassed()
        #expect(decide(&paths, 1_000, .init(isRefresh: false)).step == .prime)
        var left = 0
        while decide(&paths, 2).step != .enhance, left < 1_000 { left += 1 }
        #expect(left < 1_000)
    }

    /// Headers tell leading pictures whose times do not.
    @Test func leadingPicturesWithoutTimes() {
        let open = PathSwitch.EntryPoint(isRefresh: false)
        var paths = PathSwitch()
        #expect(decide(&paths, 0, .init()).step == .enhance)
        #expect(decide(&paths, 10, open, mode: true).step == .prime && paths.isLeaving)
        for time in [11, 12] as [Int64] { #expect(decide(&paths, time, mode: true) { $0.leads = true }.step == .enhance) }
        #expect(decide(&paths, 13, mode: true) { $0.leads = false } == .init(step: .bypass, endsRun: true))
        #expect(decide(&paths, 20, open).step == .prime)
        for time in [21, 22] as [Int64] { #expect(decide(&paths, time) { $0.leads = true }.step == .bypass) }
        #expect(decide(&paths, 23) { $0.leads = false } == .init(step: .enhance, beginsRun: true))
    }

    /// The entry point's second field comes before the leading fields.
    @Test func fields() {
        let open = PathSwitch.EntryPoint(isRefresh: false)
        func decideField(
            _ paths: inout PathSwitch, _ time: Int64, _ entry: PathSwitch.EntryPoint? = nil, leads: Bool, mode: Bool
        )
            -> PathSwitch.Decision
        {
            decide(&paths, time, entry, mode: mode) { ($0.isField, $0.leads) = (true, leads) }
        }
        for mode in [true, false] {
            var paths = mode ? PathSwitch() : bypassed()
            if mode { #expect(decide(&paths, 0, .init()).step == .enhance) }
            let (former, now) = mode ? (PathSwitch.Step.enhance, PathSwitch.Step.bypass) : (.bypass, .enhance)
            #expect(decideField(&paths, 40, open, leads: false, mode: mode).step == .prime)
            #expect(decideField(&paths, 41, leads: false, mode: mode).step == .prime)
            for time in [20, 21, 30, 31] as [Int64] {
                #expect(decideField(&paths, time, leads: true, mode: mode).step == former)
            }
            #expect(decideField(&paths, 60, leads: false, mode: mode).step == now)
        }
    }

    /// More leading pictures than any decoder can hold are none. Where none come at all, the way changes on request.
    @Test func theEntryPointIsNotHeldForEver() {
        let open = PathSwitch.EntryPoint(isRefresh: false)
        var paths = PathSwitch()
        #expect(decide(&paths, 0, .init()).step == .enhance)
        #expect(decide(&paths, 1_000_000, open, mode: true).step == .prime)
        for time in 1...32 as ClosedRange<Int64> { #expect(decide(&paths, time, mode: true).step == .enhance) }
        #expect(decide(&paths, 33, mode: true) == .init(step: .bypass, endsRun: true))

        paths = PathSwitch()
        #expect(decide(&paths, 0, .init()).step == .enhance)
        var wasRunning = paths.leave()
        #expect(!wasRunning && !paths.isBypassed)
        #expect(decide(&paths, 10, open, mode: true).step == .prime)
        wasRunning = paths.leave()
        #expect(wasRunning && paths.isBypassed && !paths.isLeaving)
        #expect(decide(&paths, 8, mode: true) == .init(step: .bypass))
    }
}
