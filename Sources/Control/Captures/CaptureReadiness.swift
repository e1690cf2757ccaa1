/// Whether stills and clips of a stream can be made now. Buttons follow it.
public struct CaptureReadiness: Hashable, Sendable {
    public enum State: String, Sendable, CaseIterable {
        /// The stream keeps no past, or there is no folder.
        case off
        /// The stream is being started.
        case starting
        case ready
        /// Nothing has come, or gone out, since the stream began.
        case waitingForPicture
        /// As many are being made as may be: there is room later.
        case waitingForProcessing
    }

    /// Of stills at once, of stills that become better later, and of clips.
    public var still: State
    public var best: State
    public var clip: State
    /// How many of the stream's wait to be made well.
    public var waiting: Int

    public init(still: State, best: State, clip: State, waiting: Int) {
        (self.still, self.best, self.clip, self.waiting) = (still, best, clip, waiting)
    }
}

/// Something that is to be made later.
public struct DeferredCapture: Hashable, Sendable {
    public enum State: String, Sendable, CaseIterable {
        case waiting, running
        /// The streams need the machine.
        case paused
    }

    public var kind: Capture.Kind
    public var number: Int
    public var state: State
    public var bytes: Int64
    /// How long ago it was asked for, in seconds.
    public var age: Double
    /// How many of all streams are made before it.
    public var position: Int

    public init(_ kind: Capture.Kind, number: Int, state: State, bytes: Int64, age: Double, position: Int) {
        (self.kind, self.number, self.state) = (kind, number, state)
        (self.bytes, self.age, self.position) = (bytes, age, position)
    }
}

/// The service's figures of what is made later.
public struct DeferredFigures: Hashable, Sendable {
    public var waiting = 0
    public var bytes: Int64 = 0
    public var isRunning = false
    /// What became of all that was asked for, by the outcome's name: `made`, `failed`, `expired`, `refused`.
    public var outcomes: [(name: String, count: Int)] = []

    public init() {}

    public static func == (a: Self, b: Self) -> Bool {
        (a.waiting, a.bytes, a.isRunning) == (b.waiting, b.bytes, b.isRunning)
            && a.outcomes.elementsEqual(b.outcomes) { $0 == $1 }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(waiting) }
}
