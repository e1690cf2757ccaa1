import CFFmpeg

/// Takes the chapters of a file, or of a part of it, over into another file.
enum FileChapters {
    /// - Parameter slowness: how many times longer the output takes.
    @unsafe static func add(
        of reader: FileReader, to output: UnsafeMutablePointer<AVFormatContext>, slowness: Int32, at place: String
    ) throws(CodecError) {
        let input = unsafe reader.format!
        for index in 0..<Int(unsafe input.pointee.nb_chapters) {
            guard let source = unsafe input.pointee.chapters[index] else { continue }
            let memory = unsafe av_mallocz(MemoryLayout<AVChapter>.size)?.assumingMemoryBound(to: AVChapter.self)
            let chapter = unsafe try check(memory, "av_mallocz", at: place)
            let base = unsafe source.pointee.time_base
            let shift = av_rescale_q(reader.shift, AVRational(num: 1, den: 1_000_000), base)
            let length = reader.part.end.map {
                av_rescale_q($0 - reader.part.start, AVRational(num: 1, den: 1_000_000), base)
            }
            let (start, end) = unsafe (max(0, source.pointee.start + shift), min(source.pointee.end + shift, length ?? .max))
            // Those of other parts.
            guard end > start else {
                unsafe av_free(chapter)
                continue
            }
            unsafe chapter.pointee.id = source.pointee.id
            unsafe chapter.pointee.time_base = AVRational(num: base.num * slowness, den: base.den)
            unsafe chapter.pointee.start = start
            unsafe chapter.pointee.end = end
            unsafe FileTags(source.pointee.metadata).add(to: &chapter.pointee.metadata)
            let count = unsafe Int(output.pointee.nb_chapters)
            let list = unsafe av_realloc_array(
                output.pointee.chapters, count + 1, MemoryLayout<UnsafeMutablePointer<AVChapter>?>.stride)
            guard let list = unsafe list?.assumingMemoryBound(to: UnsafeMutablePointer<AVChapter>?.self) else {
                unsafe av_free(chapter)
                throw CodecError(
                    .outOfMemory, operation: "av_realloc_array", message: "no memory for a chapter", place: place)
            }
            unsafe list[count] = chapter
            unsafe output.pointee.chapters = list
            unsafe output.pointee.nb_chapters += 1
        }
    }
}
