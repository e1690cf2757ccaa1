import CFFmpeg

/// What an output takes over from a file beside its pictures: streams, chapters and tags.
///
/// A pure plan: ``EncodedFileWriter`` does it.
struct PassedContents {
    /// Those that are kept.
    let streams: [PassedStream]
    let keepsChapters: Bool
    /// For people, what the output cannot hold; nil where it holds everything.
    let loss: String?
    /// For people, of which streams the input says too little for any output; nil where of none.
    let unknown: String?

    enum Sound { case copied, stretched, leftOut }

    /// - Parameters:
    ///   - path: of the output.
    ///   - contents: what it holds; nil where it holds pictures alone.
    ///   - onlySound: leave out all other streams, which the output refused.
    ///   - sound: what becomes of sound.
    ///   - leavesOutPictures: what may show pictures is not wanted.
    init(
        of reader: FileReader, in contents: ContainerContents?, path: String, onlySound: Bool = false,
        sound: Sound = .copied, leavesOutPictures: Bool = false
    ) {
        let format = unsafe reader.format!
        let hasTimecode = reader.videoTags["timecode"] != nil && reader.part.start == 0
        var (kept, lost, unknown): ([PassedStream], [PassedStream], [PassedStream]) = ([], [], [])
        for stream in reader.passedStreams {
            if sound == .leftOut && stream.kind == .sound || leavesOutPictures && stream.mayShowPictures { continue }
            if stream.isUnknown {
                unknown.append(stream)
                continue
            }
            let isHeld =
                sound == .stretched && stream.kind == .sound
                ? contents?.holdsStretchedSound == true && StretchedSound.canDecode(stream.codec)
                : contents.map { $0.holds(stream, hasTimecode: hasTimecode) || $0.format(for: stream) != nil } ?? false
            if isHeld, !onlySound || stream.kind == .sound { kept.append(stream) } else { lost.append(stream) }
        }
        streams = kept
        self.unknown =
            unknown.isEmpty
            ? nil
            : "left out, for nothing of it was found near the file's beginning: \(unknown.map(\.name).joined(separator: "; "))"
        let hasChapters = unsafe format.pointee.nb_chapters > 0
        keepsChapters = hasChapters && contents?.holdsChapters == true && !onlySound
        var names = lost.map(\.name)
        if hasChapters, !keepsChapters { names.append("chapters") }
        // Pictures on their own are not expected to carry what their file says of itself.
        let tags = contents.map { contents in
            unsafe FileTags(format.pointee.metadata).pairs.map { $0.key.lowercased() }.filter { !contents.holds(tag: $0) }
        }
        if let tags, !tags.isEmpty { names.append("the tags " + tags.sorted().joined(separator: ", ")) }
        guard !names.isEmpty else {
            loss = nil
            return
        }
        let matroska = ContainerContents.matroska
        let suits =
            contents?.family != .matroska
            && lost.allSatisfy {
                matroska?.holds($0, hasTimecode: hasTimecode) == true || matroska?.format(for: $0) != nil
            }
        loss =
            "\(path == "-" ? "the output" : path) cannot hold \(names.joined(separator: "; "))"
            + (suits ? ": an .mkv file can" : "")
    }
}
