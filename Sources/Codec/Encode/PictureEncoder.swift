import Media

/// What a relay needs of an encoder: ``VideoEncoder``, or in tests one that fails.
///
/// Confined to one thread at a time.
public protocol PictureEncoder: AnyObject {
    var configuration: VideoEncoderConfiguration { get }

    /// Encodes one picture; see ``VideoEncoder/encode(_:id:at:asKeyframe:carrying:emit:)``.
    func encode(
        _ picture: PictureView, id: Int64, at time: MediaTime, asKeyframe: Bool, carrying userData: PictureUserData?,
        emit: (borrowing EncodedUnit) -> Void
    ) throws(CodecError)

    /// Takes over another maximum rate; see ``VideoEncoder/change(_:at:)``.
    func change(_ rateControl: VideoEncoderConfiguration.RateControl, at frameRate: Rational) -> Bool
}

extension VideoEncoder: PictureEncoder {}
