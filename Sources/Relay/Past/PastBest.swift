import Bitstream
import Codec
import Enhance
import Media

/// Pictures of the past that are judged, and the entry point at which decoding them begins.
struct PastRun: Hashable, Sendable {
    /// The numbers of units.
    var entry: UInt64
    /// In the order of decoding.
    var candidates: [UInt64]
}

extension PastRing.Units {
    /// At most so many pictures are judged.
    private static var mostCandidates: Int { 12 }
    /// So many entry points stand for the time between them.
    private static var enoughEntries: Int { 4 }
    /// At most about so many pictures are decoded.
    private static var mostDecoded: Int { 600 }

    /// Which pictures to judge of those since a time. Entry points alone, if there are enough: each costs one picture. Else those of the
    /// newest groups, too, as far as they are near enough to the groups' beginnings.
    func candidates(since time: MonotonicTime) -> [PastRun] {
        let entries = (0..<count).filter { self[$0].isPicture && self[$0].isEntry }
        let recent = entries.filter { self[$0].time >= time }
        if recent.count >= Self.enoughEntries {
            let chosen = min(recent.count, Self.mostCandidates)
            return (0..<chosen).map { place in
                let number = self[recent[place * (recent.count - 1) / (chosen - 1)]].number
                return PastRun(entry: number, candidates: [number])
            }
        }
        // Of the last groups, the first of which may have begun before the time.
        let groups = entries.indices.suffix(min(recent.count + 1, Self.enoughEntries))
        var runs: [PastRun] = []
        for group in groups {
            let end = group + 1 < entries.count ? entries[group + 1] : count
            let pictures = (entries[group]..<end).filter { self[$0].isPicture }.prefix(Self.mostDecoded / groups.count)
            let wanted = pictures.filter { self[$0].time >= time }
            guard !wanted.isEmpty else { continue }
            let chosen = min(wanted.count, Self.mostCandidates / groups.count)
            runs.append(
                PastRun(
                    entry: self[entries[group]].number,
                    candidates: (0..<chosen).map { self[wanted[$0 * wanted.count / chosen]].number }))
        }
        return runs
    }
}

/// Finds the picture of most merit among a few of the past, as ``BestFrames`` does in files.
///
/// Confined to one thread.
struct PastJudge {
    private let ring: PastRing
    private let hdrPeak: Double?
    private var found: [(number: UInt64, candidate: BestFrames.Candidate)] = []

    init(_ ring: PastRing, hdrPeak: Double?) { (self.ring, self.hdrPeak) = (ring, hdrPeak) }

    /// The best picture since a time. What cannot be decoded is passed over.
    /// - Parameter isEnded: asked before each group; the rest is not judged then.
    /// - Returns: nil where nothing could be judged.
    mutating func best(since time: MonotonicTime, isEnded: () -> Bool) -> PastUnit? {
        for run in ring.withUnits({ $0.candidates(since: time) }) where !isEnded() {
            // Of a group that cannot be decoded further, what has come is judged.
            try? judge(run)
        }
        let candidates = found.map(\.candidate)
        guard let place = BestFrames.choose(1, of: candidates, BestFrames.scores(of: candidates)).first else { return nil }
        let number = found[place].number
        return ring.withUnits { $0.last { $0.number == number } }
    }

    private mutating func judge(_ run: PastRun) throws(CodecError) {
        var (bytes, number): ([UInt8], UInt64) = ([], run.entry)
        var decoder: VideoDecoder?
        while number <= run.candidates.last ?? 0, let unit = ring.read(number, into: &bytes) {
            number += 1
            guard unit.isPicture, let codec = unit.codec else { continue }
            if decoder == nil {
                var configuration = VideoDecoder.Configuration()
                (configuration.codec, configuration.hdrPeak, configuration.exportsQuantisers) = (codec, hdrPeak, true)
                decoder = try VideoDecoder(configuration)
            }
            guard let decoder else { return }
            decoder.skipsNonReference = !run.candidates.contains(unit.number)
            let result = unsafe bytes.withUnsafeBytes { bytes in
                Result { () throws(CodecError) in
                    unsafe try decoder.decode(bytes, id: Int64(unit.number), flags: unit.flags)
                }
            }
            _ = try result.get()
            try collect(decoder, run)
        }
        decoder?.drain()
        if let decoder { try collect(decoder, run) }
    }

    private mutating func collect(_ decoder: VideoDecoder, _ run: PastRun) throws(CodecError) {
        while let output = try decoder.next() {
            guard case .picture(let picture) = consume output else { continue }
            let number = UInt64(clamping: picture.id)
            guard run.candidates.contains(number), !picture.damage.contains(.corrupt), !picture.damage.contains(.reference)
            else { continue }
            let merit = unsafe FrameMerit(picture.view, quantiser: picture.meanQuantiser.map(Double.init))
            found.append((number, BestFrames.Candidate(merit, unsafe FramePrint(picture.view))))
        }
    }
}
