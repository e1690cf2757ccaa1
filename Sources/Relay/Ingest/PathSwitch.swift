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
/// refresh is complete, and the encoder has sent them already. It is a place to end one: the decoder is primed until then.
///
/// A pure value, confined to its owner.
struct PathSwitch {
    /// Who wants pictures to be bypassed.
    struct Wishes: Equatable {
        /// The operator's setting.
        var mode = false
        /// Less than bypass does not fit the machine.
        var ladder = false
        /// These pictures cannot be enhanced.
        var isForced = false

        var wantBypass: Bool { mode || ladder || isForced }
    }

    struct EntryPoint: Equatable {
        /// No later picture refers to one before it.
        var isRefresh = true
        /// How many pictures follow until all are right; 0 where the entry point itself is.
        var recovery = 0
        /// Receivers can begin another sequence here. H.264 changes its parameters only at a refresh (7.4.1.2.1), and decoders
        /// show errors elsewhere. Behind our H.264, a stream of another format is new to them at any entry point.
        var beginsSequence = true
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
        /// An entry point of this time was bypassed. Leading pictures are still enhanced.
        case leaving(MediaTime)
        case bypassed
        /// The decoder is primed since an entry point of this time; so many more pictures are to come first.
        case returning(MediaTime, left: Int)
    }

    private var state = State.enhanced
    /// The decoder has pictures of this stream.
    private var isRunning = false
    /// Pictures of this stream have come.
    private var hasBegun = false

    /// Whether the newest picture went out as it came, and those that follow will.
    var isBypassed: Bool { state == .bypassed }
    /// Whether leading pictures may still come that are enhanced.
    var isLeaving: Bool { if case .leaving = state { true } else { false } }

    /// A stream of another format begins, or the first one.
    mutating func beginStream() { hasBegun = false }

    /// - Parameters:
    ///   - presentation: the picture's.
    ///   - entry: nil where no decoder can begin.
    ///   - isSettled: all pictures of the former way are out. The way does not change before.
    mutating func decide(
        _ presentation: MediaTime, _ entry: EntryPoint?, _ wishes: Wishes, isSettled: Bool
    ) -> Decision {
        defer { hasBegun = true }
        switch state {
        case .enhanced: return enhanced(presentation, entry, wishes, isSettled: isSettled)
        case .leaving(let entryTime):
            if presentation < entryTime { return Decision(step: .enhance) }
            return endRun()
        case .bypassed: return bypassed(presentation, entry, wishes, isSettled: isSettled)
        case .returning(let entryTime, let left):
            if wishes.wantBypass { return endRun() }
            if entry?.isRefresh == true { return beginRun() }
            if presentation < entryTime { return Decision(step: .bypass) }
            if left > 1 {
                state = .returning(entryTime, left: left - 1)
                return Decision(step: .prime)
            }
            return beginRun()
        }
    }

    private mutating func enhanced(
        _ presentation: MediaTime, _ entry: EntryPoint?, _ wishes: Wishes, isSettled: Bool
    ) -> Decision {
        // Receivers have nothing of this stream yet.
        if wishes.wantBypass, !hasBegun { return endRun() }
        guard wishes.wantBypass, isSettled, let entry,
            entry.recovery == 0 && entry.beginsSequence || wishes.isForced
        else {
            isRunning = true
            return Decision(step: .enhance)
        }
        if entry.isRefresh || wishes.isForced { return endRun() }
        state = .leaving(presentation)
        return Decision(step: .prime)
    }

    private mutating func bypassed(
        _ presentation: MediaTime, _ entry: EntryPoint?, _ wishes: Wishes, isSettled: Bool
    ) -> Decision {
        guard !wishes.wantBypass, isSettled, let entry else { return Decision(step: .bypass) }
        if entry.isRefresh { return beginRun() }
        state = .returning(presentation, left: entry.recovery)
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
