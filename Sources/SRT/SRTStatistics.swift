import CSRT
import Media
import Packets

extension LegFigures {
    /// The figures of one connection so far. Costs a few microseconds.
    init?(of id: SRTSOCKET, window: Nanoseconds) {
        var figures = SRT_TRACEBSTATS()
        guard unsafe srt_bistats(id, &figures, 0, 1) != SRT_ERROR else { return nil }
        self.init()
        isConnected = true
        self.connections = 1
        self.roundTripTime = .milliseconds(figures.msRTT)
        self.window = window
        self.packetsBuffered = Int64(figures.pktSndBuf) + Int64(figures.pktRcvBuf)
        timeBuffered = .milliseconds(Double(figures.msSndBuf))
        // Where another thread uses the connection, libsrt gives no figures of the buffers: they look neither full nor free.
        knowsBuffered = figures.byteAvailSndBuf + figures.pktSndBuf + figures.pktRcvBuf > 0
        self.packetsSent = figures.pktSentTotal
        self.packetsReceived = figures.pktRecvTotal
        packetsFromPeer = figures.pktRecvTotal + Int64(figures.pktRecvACKTotal) + Int64(figures.pktRecvNAKTotal)
        self.packetsLost = Int64(figures.pktRcvLossTotal) + Int64(figures.pktSndLossTotal)
        self.packetsRetransmitted = Int64(figures.pktRetransTotal) + Int64(figures.pktRcvRetrans)
        self.packetsBelated = Int64(figures.pktRcvBelated)
        self.packetsDropped = Int64(figures.pktSndDropTotal) + Int64(figures.pktRcvDropTotal)
        self.bytesSent = Int64(clamping: figures.byteSentTotal)
        self.bytesReceived = Int64(clamping: figures.byteRecvTotal)
    }
}
