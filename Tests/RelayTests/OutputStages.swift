import Media
import Transport
@testable import Relay

/// Runs the encode stage on this thread and the send stage on another, as the relay does, until the queue of finished
/// pictures is closed and empty and everything has left.
func runOutput(
    _ finished: BoundedQueue<FinishedFrame>, passing: PassingStreams = PassingStreams(), sink: Sink,
    _ channels: StreamChannels
) {
    let output = SendStage(sinks: [sink], passing: passing, channels: channels)
    let send = StageThread(name: "send") { output.run() }
    EncodeStage(finished: finished, output: output, channels: channels).run()
    send.join()
}
