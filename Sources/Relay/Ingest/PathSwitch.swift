import Media

/// Decides for each coded picture which way it takes: to the decoder and on through enhancement (`enhance`), or straight to the
/// output as it came (`bypass`). A commanded change loses and repeats no picture.
///
/// The way changes at an *entry point*, a picture at which a decoder can begin. Behind an entry point that is no refresh
/// (an open group of pictures), *leading* pictures may come that are shown before it and refer to pictures before it. Such a
/// picture can only be decoded where the pictures before it were. So leading pictures still take the former way, and the entry
/// point, to which they refer too, takes both (`prime`): it goes out as it came, and the decoder gets it without showing it. The
/// decoder needs nothing else while pictures are bypassed, so it rests meanwhile.
///
/// A gradual refresh (`recovery` above 0) is no place to begin a bypass, because a receiver would show the pictures until the
/// refresh is complete, and the encoder has sent them already. It is a place to end one: the decoder is primed until then, and
/// until a picture comes that is shown after all that went out as they came.
///
/// Where an entry point is one field, the other field follows it before the leading pictures (H.265, 7.4.2.2). It takes both ways,
/// too.
///
/// A pure value, confined to its owner.
struct PathSwitch {
    /// Who wants pictures to be bypassed.
    struct Wishes: Equatable {
        /// The operator's setting.
        var mode = false
        /// Less than bypass does not fit the machine.
        var ladder = false
        /// The links of all viewers carry no more.
        var viewers = false
        /// These pictures cannot be enhanced.
        var isForced = false
        /// No entry point is to be expected that a forced change could wait for.
        var hasNoEntries = false

        var wantBypass: Bool { mode || ladder || viewers || isForced }
    }

    struct EntryPoint: Equatable {
        /// No later picture refers to one before it.
        var isRefresh = true
        /// How many pictures that advance the refresh come, this one included, until all are right; 0 where it is right itself.
        var recovery = 0
        /// Receivers can begin another sequence here. H.264 changes its parameters only at a refresh (7.4.1.2.1), and decoders
        /// show errors elsewhere. Behind our H.264, a stream of another format is new to them at any entry point.
        var beginsSequence = true
        /// It is known which pictures lead: headers say so, or times, or a refresh has none.
        var isSafe = true
    }

    /// What is known of a picture before it is decoded. While nothing changes, its time is enough.
    struct Picture: Equatable {
        var presentation: MediaTime
        /// Nil where no decoder can begin.
        var entry: EntryPoint?
        /// Whether it is shown before the entry point that it follows; nil where only its time tells.
        var leads: Bool?
        /// It is one field, and the other is another picture.
        var isField = false
        /// A gradual refresh counts it.
        var advancesRefresh = true

        init(_ presentation: MediaTime) { self.presentation = presentation }
    }

    enum Step: Equatable {
        case enhance, bypass
        /// Both: the decoder shows nothing of it.
        case prime
    }

    struct Decision: Equatable {
        var step: Step
        /// The decoder gets nothing more for now, before this picture: it has to show what it holds back.
        var endsRun = false
        /// The decoder begins with this picture, or with those that have primed it.
        var beginsRun = false
    }

    private enum State: Equatable {
        case enhanced
        /// An entry point was bypassed. Leading pictures are still enhanced.
        case leaving(Change)
        case bypassed
        /// The decoder is primed since an entry point.
        case returning(Change)
    }

    /// What has come since an entry point at which the way changes.
    private struct Change: Equatable {
        /// The entry point's time, and that of the picture that is shown last of those that went out as they came.
        var entry: MediaTime
        var newest: MediaTime
        var entryIsField: Bool
        /// How many pictures have come since.
        var count = 0
        /// So many more that advance the refresh are to come first.
        var left = 0

        init(_ picture: Picture) {
            (entry, newest, entryIsField) = (picture.presentation, picture.presentation, picture.isField)
            left = (picture.entry?.recovery ?? 0) - (picture.advancesRefresh ? 1 : 0)
        }

        /// Whether a picture leads, and may.
        func isLed(by picture: Picture) -> Bool {
            count < PathSwitch.mostLeading && picture.leads ?? (picture.presentation < entry)
        }

        /// Whether a picture is the entry point's other field.
        func isCompleted(by picture: Picture) -> Bool { entryIsField && picture.isField && count == 0 }
    }

    /// More pictures than a decoder can reorder, both fields of each counted (H.264 and H.265, A.4).
    private static let mostLeading = 32
    /// A refresh that takes longer (10 s at 30 pictures a second) is none.
    private static let longestRefresh = 300

    private var state = State.enhanced
    /// The decoder has pictures of this stream.
    private var isRunning = false
    /// Pictures of this stream have come.
    private(set) var hasBegun = false

    /// Whether the newest picture went out as it came, and those that follow will.
    var isBypassed: Bool { state == .bypassed }
    /// Whether leading pictures may still come that are enhanced.
    var isLeaving: Bool { if case .leaving = state { true } else { false } }

    /// A stream of another format begins, or the first one.
    mutating func beginStream() { hasBegun = false }

    /// Whether what is known of every picture counts, and not only of entry points.
    var isChanging: Bool {
        switch state {
        case .leaving, .returning: true
        case .enhanced, .bypassed: false
        }
    }

    /// The leading pictures have not come in time: those that still come are bypassed.
    /// - Returns: whether the decoder ran, so that its run ends now.
    mutating func leave() -> Bool {
        guard isLeaving else { return false }
        return endRun().endsRun
    }

    /// - Parameter isSettled: all pictures of the former way are out. The way does not change before.
    mutating func decide(_ picture: Picture, _ wishes: Wishes, isSettled: Bool) -> Decision {
        defer { hasBegun = true }
        switch state {
        case .enhanced: return enhanced(picture, wishes, isSettled: isSettled)
        case .leaving(var change):
            let (isLed, isCompleted) = (change.isLed(by: picture), change.isCompleted(by: picture))
            guard isLed || isCompleted else { return endRun() }
            change.count += 1
            state = .leaving(change)
            return Decision(step: isLed ? .enhance : .prime)
        case .bypassed: return bypassed(picture, wishes, isSettled: isSettled)
        case .returning(let change): return wishes.wantBypass ? endRun() : returning(change, picture)
        }
    }

    private mutating func returning(_ change: Change, _ picture: Picture) -> Decision {
        if picture.entry?.isRefresh == true { return beginRun() }
        var change = change
        let (isLed, isCompleted) = (change.isLed(by: picture), change.isCompleted(by: picture))
        // Receivers show pictures in the order of their times.
        let isLater = picture.presentation > change.newest || change.count >= Self.longestRefresh
        if !isLed, !isCompleted, change.left <= 0, isLater { return beginRun() }
        change.count += 1
        change.newest = max(change.newest, picture.presentation)
        if isLed {
            state = .returning(change)
            return Decision(step: .bypass)
        }
        if picture.advancesRefresh { change.left -= 1 }
        // Another refresh may be complete sooner.
        let other = Change(picture)
        if picture.entry?.isSafe == true, other.left < change.left { change.left = other.left }
        state = .returning(change)
        return Decision(step: .prime)
    }

    private mutating func enhanced(_ picture: Picture, _ wishes: Wishes, isSettled: Bool) -> Decision {
        // Receivers have nothing of this stream yet.
        if wishes.wantBypass, !hasBegun { return endRun() }
        if wishes.isForced, wishes.hasNoEntries, isSettled { return endRun() }
        guard wishes.wantBypass, isSettled, let entry = picture.entry,
            entry.recovery == 0 && entry.beginsSequence && entry.isSafe || wishes.isForced
        else {
            isRunning = true
            return Decision(step: .enhance)
        }
        if entry.isRefresh || wishes.isForced { return endRun() }
        state = .leaving(Change(picture))
        return Decision(step: .prime)
    }

    private mutating func bypassed(_ picture: Picture, _ wishes: Wishes, isSettled: Bool) -> Decision {
        guard !wishes.wantBypass, isSettled, let entry = picture.entry, entry.isSafe,
            entry.recovery <= Self.longestRefresh
        else {
            return Decision(step: .bypass)
        }
        if entry.isRefresh { return beginRun() }
        state = .returning(Change(picture))
        isRunning = true
        return Decision(step: .prime)
    }

    private mutating func beginRun() -> Decision {
        state = .enhanced
        isRunning = true
        return Decision(step: .enhance, beginsRun: true)
    }

    private mutating func endRun() -> Decision {
        state = .bypassed
        defer { isRunning = false }
        return Decision(step: .bypass, endsRun: isRunning)
    }
}
