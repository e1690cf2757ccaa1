import Media

/// Which picture of the past is meant.
public enum PastPlace: Hashable, Sendable {
    /// The one that had come, or had left, by then and is shown last.
    case time(MonotonicTime)
    /// The one of the frame with this number in records and traces.
    case frame(UInt64)
    /// The one with this RTP time stamp: as it came, or as any viewer of a call got it.
    case rtp(UInt32)
    /// The best of those that had come, or had left, from then on (``PastJudge``).
    case best(since: MonotonicTime)
}

/// Why there is no such picture, or no such clip. The text says what to do.
public struct PastFault: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Kind: Hashable, Sendable {
        /// There is no such picture, and there will be none.
        case missing
        /// It cannot be had as things are.
        case conflict
        /// Others are served: it may be had later.
        case busy
    }

    public var kind: Kind
    public var description: String

    init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }

    static let off = PastFault(.conflict, "the stream keeps no past: set past, as 20s")
    static let ended = PastFault(.busy, "the stream has ended")
    static let busy = PastFault(.busy, "other pictures of the past are being made: try again later")
    static let gone = PastFault(.missing, "it has just left what is kept: set a longer past or a larger past-memory")
    static let masked = PastFault(.conflict, "a mask is set, so pictures as they came are not kept: ask for after")
    static let maskedLater = PastFault(
        .conflict, "a mask is set, so pictures as they came are not kept to make a better one of: ask for fast")
    static let future = PastFault(.conflict, "that time is yet to come: ask for a time up to 0s")
}

extension PastRing {
    /// Finds a picture.
    /// - Parameters:
    ///   - side: which pictures are kept here, for the fault's text.
    ///   - stampBases: what has been added to presentation times for RTP time stamps, where they are our own.
    func find(
        _ place: PastPlace, _ side: StreamPicture.Side, stampBases: [UInt32] = [], now: MonotonicTime = .now()
    ) -> Result<PastUnit, PastFault> {
        if case .time(let time) = place, time > now { return .failure(.future) }
        if let lack { return .failure(lack.fault(side)) }
        return withUnits { units in
            let found =
                switch place {
                case .time(let time): units.shown(at: time)
                // It stands for the others until they are judged.
                case .best(let time): units.last { $0.time >= time }
                case .frame(let frame): units.last { $0.frame == frame }
                case .rtp(let stamp):
                    units.last { unit in
                        side == .before
                            ? unit.rtp == stamp
                            : stampBases.contains { $0 &+ UInt32(truncatingIfNeeded: unit.presentation.ticks) == stamp }
                    }
                }
            return found.map { .success($0) } ?? .failure(units.fault(place, side, now: now))
        }
    }
}

extension PastRing.Units {
    /// The newest picture of which something holds.
    func last(where isMeant: (PastUnit) -> Bool) -> PastUnit? {
        var index = count - 1
        while index >= 0 {
            let unit = self[index]
            if unit.isPicture, isMeant(unit) { return unit }
            index -= 1
        }
        return nil
    }

    /// So many units are looked at for one that is shown later than the newest.
    private static var reordered: Int { 64 }

    /// The picture that is shown last of those that are due when the newest unit had come by a time: units come in decoding order.
    fileprivate func shown(at time: MonotonicTime) -> PastUnit? {
        guard let newest = last(where: { $0.time <= time }) else { return nil }
        let place = count - Int(self[count - 1].number - newest.number) - 1
        var best: PastUnit?
        for index in stride(from: place, through: max(0, place - Self.reordered), by: -1) {
            let unit = self[index]
            guard unit.isPicture, unit.presentation <= newest.decode,
                unit.presentation > best?.presentation ?? .init(ticks: .min)
            else { continue }
            best = unit
        }
        return best ?? newest
    }

    fileprivate func fault(_ place: PastPlace, _ side: StreamPicture.Side, now: MonotonicTime) -> PastFault {
        guard let oldest = first(where: \.isPicture), let newest = last(where: { _ in true }) else {
            return PastRing.Lack.nothingCame.fault(side)
        }
        let reach = "the \(side) pictures that are kept go back \(((now - oldest.time).seconds * 10).rounded() / 10) s"
        let advice = "set a longer past or a larger past-memory"
        switch place {
        case .time: return PastFault(.missing, "\(reach): \(advice)")
        case .best: return PastFault(.missing, "no \(side) picture of these seconds is kept: ask for more of them")
        case .rtp:
            if side == .before, newest.rtp == nil {
                return PastFault(.conflict, "the input's pictures have no RTP time stamps: ask by frame or at")
            }
            return PastFault(.missing, "no picture that is kept has this RTP time stamp; \(reach): \(advice)")
        case .frame(let frame):
            if frame > max(newest.frame, last { $0.frame > newest.frame }?.frame ?? 0) {
                return PastFault(.missing, "frame \(frame) has not come yet; the newest \(side) picture is \(newest.frame)")
            }
            if frame < oldest.frame { return PastFault(.missing, "frame \(frame) has left: \(reach); \(advice)") }
            return PastFault(
                .missing,
                side == .after
                    ? "frame \(frame) did not go out, as its record says: ask for before, or for another frame"
                    : "frame \(frame) did not come in: it was made here, so ask for after")
        }
    }

    private func first(where isMeant: (PastUnit) -> Bool) -> PastUnit? {
        for index in 0..<count where isMeant(self[index]) { return self[index] }
        return nil
    }

    /// Where decoding may begin for a picture, the nearest first: the numbers of entry points that are shown no later.
    func entries(before target: PastUnit, most: Int) -> [UInt64] {
        var entries: [UInt64] = []
        guard count > 0, target.number >= self[0].number else { return [] }
        var index = Int(target.number - self[0].number)
        guard index < count else { return [] }
        while index >= 0, entries.count < most {
            let unit = self[index]
            if unit.isPicture, unit.isEntry, unit.presentation <= target.presentation { entries.append(unit.number) }
            index -= 1
        }
        return entries
    }
}

extension PastRing.Lack {
    func fault(_ side: StreamPicture.Side) -> PastFault {
        switch self {
        case .nothingCame:
            PastFault(
                .conflict,
                side == .before
                    ? "no picture at which a decoder can begin has come yet: try again"
                    : "nothing has gone out yet: somebody must receive the output")
        case .groupTooLarge:
            PastFault(
                .conflict,
                "the pictures between two keyframes take more than there is room for: set a larger past-memory, or have the sender"
                    + " send keyframes more often")
        case .masked: .masked
        }
    }
}
