/// One plane of samples in memory that the view does not own, read-only. `stride` is the distance between rows in bytes, at least
/// `width`.
///
/// A view must not outlive the memory it points into; functions receive it as an argument and never store it.
@unsafe public struct PlaneView {
    public let base: UnsafePointer<UInt8>
    public let stride: Int
    public let width: Int
    public let height: Int

    @inlinable public init(base: UnsafePointer<UInt8>, stride: Int, width: Int, height: Int) {
        unsafe self.base = base
        unsafe self.stride = stride
        unsafe self.width = width
        unsafe self.height = height
    }

    @inlinable public func row(_ y: Int) -> UnsafePointer<UInt8> { unsafe base + y * stride }
}

/// One plane of samples in memory that the view does not own, writable. See ``PlaneView``.
@unsafe public struct MutablePlaneView {
    public let base: UnsafeMutablePointer<UInt8>
    public let stride: Int
    public let width: Int
    public let height: Int

    @inlinable public init(base: UnsafeMutablePointer<UInt8>, stride: Int, width: Int, height: Int) {
        unsafe self.base = base
        unsafe self.stride = stride
        unsafe self.width = width
        unsafe self.height = height
    }

    @inlinable public func row(_ y: Int) -> UnsafeMutablePointer<UInt8> { unsafe base + y * stride }
    @inlinable public var readOnly: PlaneView {
        unsafe PlaneView(base: UnsafePointer(base), stride: stride, width: width, height: height)
    }
}

/// An 8-bit 4:2:0 picture in memory that the view does not own, read-only: luma at full size, two chroma planes at half.
@unsafe public struct PictureView {
    public let y: PlaneView
    public let u: PlaneView
    public let v: PlaneView

    @inlinable public init(y: PlaneView, u: PlaneView, v: PlaneView) {
        unsafe self.y = y
        unsafe self.u = u
        unsafe self.v = v
    }

    @inlinable public var size: PictureSize { unsafe PictureSize(width: y.width, height: y.height) }
}

/// An 8-bit 4:2:0 picture in memory that the view does not own, writable.
@unsafe public struct MutablePictureView {
    public let y: MutablePlaneView
    public let u: MutablePlaneView
    public let v: MutablePlaneView

    @inlinable public init(y: MutablePlaneView, u: MutablePlaneView, v: MutablePlaneView) {
        unsafe self.y = y
        unsafe self.u = u
        unsafe self.v = v
    }

    @inlinable public var size: PictureSize { unsafe PictureSize(width: y.width, height: y.height) }
    @inlinable public var readOnly: PictureView { unsafe PictureView(y: y.readOnly, u: u.readOnly, v: v.readOnly) }
}
