import Codec
import Container
import Endpoint
import Media
import Schedule
import Telemetry
import TestStreams
import Testing
import Transport
@testable import Relay

/// What a frame is told to wait behind it, looked at while the decode thread is in the middle of its work.
@Suite(.timeLimit(.minutes(3))) struct WaitingTests {
    /// A decoder that stops behind each picture, when it is asked for the next, until it may go on.
    private final class HaltingDecoder: PictureDecoder {
        private let decoder: VideoDecoder
        private let halt: Halt
        private var asked = 0

        init(_ configuration: VideoDecoder.Configuration, _ halt: Halt) throws(CodecError) {
            decoder = try VideoDecoder(configuration)
            self.halt = halt
        }

        var skipsNonReference: Bool {
            get { decoder.skipsNonReference }
            set { decoder.skipsNonReference = newValue }
        }
        var exportsQuantisers: Bool {
            get { decoder.exportsQuantisers }
            set { decoder.exportsQuantisers = newValue }
        }

        func decode(_ unit: UnsafeRawBufferPointer, id: Int64, flags: UnitFlags) throws(CodecError) -> Bool {
            asked = 0
            return try decoder.decode(unit, id: id, flags: flags)
        }

        func next() throws(CodecError) -> DecoderOutput? {
            asked += 1
            if asked == 2 { halt.pass() }
            return try decoder.next()
        }

        func drain() { decoder.drain() }
    }

    /// A picture has been handed on, and the decode thread has not got round to saying that it is done with it.
    @Test func aFrameDoesNotWaitBehindItself() throws {
        let halt = Halt()
        var configuration = RelayConfiguration(input: .standardStream, output: .standardStream)
        configuration.makeDecoder = { (configuration) throws(CodecError) in try HaltingDecoder(configuration, halt) }
        let stream = StreamChannels(configuration)
        let (units, pictures) = (UnitQueue(books: stream.books), BoundedQueue<DecodedFrame>(capacity: 2))
        let ids = try add(4, to: units, stream)
        let decode = StageThread(name: "decode") { DecodeStage(units: units, pictures: pictures, channels: stream).run() }
        let enhance = EnhanceStage(
            pictures: pictures, finished: BoundedQueue<FinishedFrame>(capacity: 2), units: units, channels: stream)
        for (index, id) in ids.enumerated() {
            halt.await()
            guard let frame = pictures.pop() else { break }
            let popped = frame.ticket.record.id
            #expect(popped == id && stream.decoder.frameInside == id)
            #expect(enhance.pipelineState(behind: id).originalsBehind == 3 - index)
            // For the one before, this one is another.
            if index > 0 { #expect(enhance.pipelineState(behind: ids[index - 1]).originalsBehind == 4 - index) }
            stream.books.ledger.close(frame.intoTicket(), as: .emitted)
            halt.goOn()
        }
        units.close()
        decode.join()
        #expect(stream.decoder.frameInside == nil && enhance.pipelineState(behind: ids[0]).originalsBehind == 0)
        #expect(stream.books.ledger.books.emitted == 4 && stream.books.ledger.books.balance)
    }

    /// Puts the units of a stream into the queue.
    /// - Returns: their frames' numbers.
    private func add(_ count: Int, to units: UnitQueue, _ stream: StreamChannels) throws -> [UInt64] {
        var ids: [UInt64] = []
        var demuxer = TransportStreamDemuxer()
        func receive(_ event: ContainerEvent) {
            guard case .unit(let unit) = event else { return }
            let ticket = stream.books.ledger.open(.original, presentation: unit.presentation ?? MediaTime(ticks: 0))
            ids.append(ticket.record.id)
            units.add(ticket, unit.bytes, flags: [], isKeyframe: unit.isKeyframe, mayWait: true)
        }
        try TestStream.video(frames: count).withUnsafeBytes {
            demuxer.push($0, arrival: MonotonicTime(nanoseconds: 0), sourceTime: nil, handler: receive)
        }
        demuxer.finish(handler: receive)
        return ids
    }
}
