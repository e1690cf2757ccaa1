import Media

extension TrackClock {
    /// This clock, of a layer of a picture, as it goes on behind another layer of it: the layers' stamps count from anywhere, and the
    /// pictures follow each other on the shared timeline.
    ///
    /// Sender reports say which stamps belong together. Before there are any, packets that were sent together do, or else those that
    /// came together. No picture lies before one that was delivered, nor at its time: the layers have the same pictures.
    /// - Parameters:
    ///   - former: the clock of the layer before, whose newest packet came at `heard`.
    ///   - timestamp: of the first packet.
    ///   - delivered: the latest picture that was delivered; nil before any.
    func following(
        _ former: TrackClock, heard: MonotonicTime, timestamp: UInt32, at arrival: MonotonicTime, delivered: MediaTime?
    ) -> TrackClock {
        var clock = self
        // What the stamp is in ticks of its own.
        clock.place(timestamp, arrival: arrival, at: 0)
        let own = -clock.offset
        var time: Int64
        if let offset = offset(alignedTo: former) {
            time = own + offset
        } else if let newest, let sent = newestSourceTime, let its = former.newest, let itsTime = former.newestSourceTime {
            time = own - newest + its + former.offset + MediaTime.ticks(in: sent - itsTime)
        } else {
            time = (former.newest ?? 0) + former.offset + MediaTime.ticks(in: arrival - heard)
        }
        if let delivered { time = max(time, delivered - MediaTime(ticks: 0) + 1) }
        clock.offset = time - own
        return clock
    }
}
