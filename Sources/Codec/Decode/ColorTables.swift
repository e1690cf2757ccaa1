import Kernels
import Media
import Synchronization

/// Makes tables of colours beside the stream, some 15 ms each, and has the one that was made last.
///
/// Confined to one thread at a time.
final class ColorTables {
    /// What the maker's thread hands over.
    private final class Delivery: Sendable {
        let isReady = Atomic<Bool>(false)
        let table = Lock<ColorTable?>(nil)
    }

    private struct Making {
        let conversion: ColorConversion
        let delivery: Delivery
        let thread: StageThread
    }

    private var made: (conversion: ColorConversion, table: ColorTable)?
    private var making: Making?
    /// Whether pictures wait for a table of exactly their peak, as in files, whose pictures are to be the same each time.
    private let isExact: Bool

    init(isExact: Bool) { self.isExact = isExact }

    deinit { making?.thread.detach() }

    /// Begins to make a table that pictures are about to need.
    func expect(_ conversion: ColorConversion) {
        if conversion == made?.conversion || conversion == making?.conversion { return }
        // What was begun for other pictures is not worth waiting for.
        making?.thread.detach()
        let delivery = Delivery()
        making = Making(
            conversion: conversion, delivery: delivery,
            thread: StageThread(name: "colours") {
                let map = conversion.makeMapper()
                let table = ColorTable(chroma: .nearGrey) { map($0) }
                delivery.table.withLock { $0 = table }
                delivery.isReady.store(true, ordering: .releasing)
            })
    }

    /// The table for a picture. Waits for the first one of its kind. Pictures that only get another peak have the table of the one before
    /// until theirs is there.
    func table(for conversion: ColorConversion) -> ColorTable {
        if let made, made.conversion == conversion { return made.table }
        let suffices = !isExact && made.map { conversion.differsInPeakAlone(from: $0.conversion) } == true
        if let made, suffices, let making, !making.delivery.isReady.load(ordering: .acquiring) { return made.table }
        expect(conversion)
        if let made, suffices, let making, !making.delivery.isReady.load(ordering: .acquiring) { return made.table }
        guard let making = making.take() else { preconditionFailure("a table is being made") }
        making.thread.join()
        guard let table = making.delivery.table.withLock({ $0 }) else { preconditionFailure("its thread has made it") }
        made = (conversion, table)
        return table
    }
}
