import CSRT
import Media
import Packets

extension LegStatistics {
    /// The figures of one connection so far. Costs a few microseconds.
    init?(of id: SRTSOCKET, window: Nanoseconds) {
        var figures = SRT_TRACEBSTATS()
        guard unsafe srt_bistats(id, &figures, 0, 1) != SRT_ERROR else { return nil }
        self.init()
        connected = true
        connections = 1
        roundTripTime = .milliseconds(figures.msRTT)
        self.window = window
        packetsBuffered = Int64(figures.pktSndBuf) + Int64(figures.pktRcvBuf)
        timeBuffered = .milliseconds(Double(figures.msSndBuf))
        // Where another thread uses the connection, libsrt gives no figures of the buffers: they look neither full nor free.
        knowsBuffered = figures.byteAvailSndBuf + figures.pktSndBuf + figures.pktRcvBuf > 0
        packetsSent = figures.pktSentTotal
        packetsReceived = figures.pktRecvTotal
        packetsFromPeer = figures.pktRecvTotal + Int64(figures.pktRecvACKTotal) + Int64(figures.pktRecvNAKTotal)
        packetsLost = Int64(figures.pktRcvLossTotal) + Int64(figures.pktSndLossTotal)
        packetsRetransmitted = Int64(figures.pktRetransTotal) + Int64(figures.pktRcvRetrans)
        packetsDropped = Int64(figures.pktSndDropTotal) + Int64(figures.pktRcvDropTotal)
        bytesSent = Int64(clamping: figures.byteSentTotal)
        bytesReceived = Int64(clamping: figures.byteRecvTotal)
    }
}
