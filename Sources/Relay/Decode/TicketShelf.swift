import Telemetry

/// Holds the tickets of frames that are inside a C library, which knows frames by a number only.
///
/// It has 32 places. A codec that keeps more frames than that has lost some.
struct TicketShelf: ~Copyable {
    private var places: InlineArray<32, FrameTicket?> = .init { _ in nil }
    private var keys: InlineArray<32, Int64> = .init(repeating: -1)

    init() {}

    /// How many tickets are on it.
    var count: Int {
        var count = 0
        for n in 0..<32 where keys[n] != -1 { count += 1 }
        return count
    }

    /// Puts a ticket on the shelf.
    /// - Returns: a ticket that had to make room, the oldest one, when the shelf is full.
    mutating func put(_ ticket: consuming FrameTicket, key: Int64) -> FrameTicket? {
        var place = 0
        for n in 0..<32 {
            if keys[n] == -1 {
                place = n
                break
            }
            if keys[n] < keys[place] { place = n }
        }
        var evicted: FrameTicket? = consume ticket
        swap(&places[place], &evicted)
        keys[place] = key
        return evicted
    }

    /// Removes the ticket with the given number.
    mutating func remove(key: Int64) -> FrameTicket? {
        for n in 0..<32 where keys[n] == key {
            keys[n] = -1
            return places[n].take()
        }
        return nil
    }

    /// Removes any ticket that is left.
    mutating func removeAny() -> FrameTicket? {
        for n in 0..<32 where keys[n] != -1 {
            keys[n] = -1
            return places[n].take()
        }
        return nil
    }
}
