import Codec
import Media

extension TestStream {
    /// How strong the combs of a picture are: how much rows differ from the rows beside them, against how much they differ from those two away.
    package static func combs(of picture: borrowing DecodedPicture) -> Double {
        let plane = picture.view.y
        var (beside, same) = (0, 1)
        for y in 2..<plane.height - 2 {
            for x in 0..<plane.width {
                let here = 2 * Int(plane.row(y)[x])
                beside += abs(here - Int(plane.row(y - 1)[x]) - Int(plane.row(y + 1)[x]))
                same += abs(here - Int(plane.row(y - 2)[x]) - Int(plane.row(y + 2)[x]))
            }
        }
        return Double(beside) / Double(same)
    }
}
