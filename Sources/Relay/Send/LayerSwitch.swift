import Media

/// Takes one viewer of a call from a layer to another, at keyframes, so that the pictures' times go on: no picture comes that lies before
/// one that they have.
///
/// The publisher's pictures come before an encoder's of the same time. So the way to them needs only the publisher's next keyframe. For
/// the way to an encode the viewer gets no pictures behind the newest, and its encoder is asked for a keyframe behind that one. The
/// pause is as long as the relay takes for a picture, or from one encode to the other as long as a picture is shown.
///
/// A pure value; it reads no clock.
struct LayerSwitch {
    /// What the viewer gets now, and what they are to get.
    private(set) var present = ViewerLayer.enhanced
    private(set) var wanted = ViewerLayer.enhanced
    /// The newest picture that they have had.
    private var newest: MediaTime?
    /// The pictures of the present layer end with this one.
    private(set) var last: MediaTime?
    private var waitsSince: MonotonicTime?
    private var asked: MonotonicTime?

    /// The encoder is asked again after so long.
    static let retryInterval = Nanoseconds.milliseconds(400)
    /// Without a keyframe of the encoder for so long, they get the publisher's pictures again.
    static let timeout = Nanoseconds.seconds(1)

    init() {}

    /// - Parameter present: what the viewer begins with.
    init(_ present: ViewerLayer) { (self.present, wanted) = (present, present) }

    /// - Returns: whether the viewer needs a keyframe of what they have: the way to an encode was begun and is given up, and pictures were
    ///   left out meanwhile.
    @discardableResult mutating func want(_ layer: ViewerLayer) -> Bool {
        guard layer != wanted else { return false }
        let hasPaused = last != nil
        (wanted, last, waitsSince, asked) = (layer, nil, nil, nil)
        // Silence needs no keyframe.
        if layer == .sound { present = .sound }
        return layer == present && (layer == .sent || hasPaused)
    }

    /// Whether the keyframe of the encode that they are to get is to be asked for, and behind which picture.
    /// - Parameter isEncoding: that encoder gives pictures.
    mutating func keyframeBehind(isEncoding: Bool, at now: MonotonicTime) -> MediaTime? {
        guard wantsEncode, present != wanted, isEncoding else { return nil }
        if let asked, now - asked < Self.retryInterval { return nil }
        asked = now
        // Who gets no pictures can begin with any keyframe.
        guard present != .sound, let newest else { return newest ?? MediaTime(ticks: .min) }
        if last == nil { (last, waitsSince) = (newest, now) }
        return last
    }

    /// The encoder has not given its keyframe in time.
    /// - Returns: whether the viewer needs a keyframe of what they have now.
    mutating func giveUp(at now: MonotonicTime) -> Bool {
        guard let since = waitsSince, now - since >= Self.timeout else { return false }
        (last, waitsSince, asked) = (nil, nil, now + Self.timeout)
        return present != .sound
    }

    /// Whether they are to get what an encoder makes.
    var wantsEncode: Bool { wanted == .enhanced || wanted == .small }

    /// Whether the publisher's next keyframe is waited for.
    var awaitsSent: Bool { wanted == .sent && present != .sent }

    /// Whether a picture of the output is for the viewer.
    /// - Parameters:
    ///   - isSent: the output consists of the publisher's pictures, because the stream is bypassed. They are then for all.
    ///   - time: nil for one that does not go out.
    mutating func takes(isKeyframe: Bool, isSent: Bool, at time: MediaTime?) -> Bool {
        guard let time else { return present == .enhanced || isSent && present == .sent }
        if isSent, takesSent(isKeyframe: isKeyframe, at: time) { return true }
        return takesEnhanced(isKeyframe: isKeyframe, at: time)
    }

    /// Whether a picture of the encoder is for the viewer. It counts as theirs when this says so.
    mutating func takesEnhanced(isKeyframe: Bool, at time: MediaTime) -> Bool {
        if present != .enhanced {
            guard wanted == .enhanced, isKeyframe, newest.map({ time > $0 }) ?? true else { return false }
            (present, last, waitsSince) = (.enhanced, nil, nil)
        }
        if let last, time > last { return false }
        newest = max(newest ?? time, time)
        return true
    }

    /// The same of one of the smaller encode.
    mutating func takesSmall(isKeyframe: Bool, at time: MediaTime) -> Bool {
        if present != .small {
            guard wanted == .small, isKeyframe, newest.map({ time > $0 }) ?? true else { return false }
            (present, last, waitsSince) = (.small, nil, nil)
        }
        if let last, time > last { return false }
        newest = max(newest ?? time, time)
        return true
    }

    /// The same of one of the publisher's.
    mutating func takesSent(isKeyframe: Bool, at time: MediaTime) -> Bool {
        if present != .sent {
            guard wanted == .sent, isKeyframe, newest.map({ time > $0 }) ?? true else { return false }
            present = .sent
        }
        if let last, time > last { return false }
        newest = max(newest ?? time, time)
        return true
    }
}
