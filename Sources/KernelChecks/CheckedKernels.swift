/// The list of all kernel checks. Each family of kernels adds its own.
public enum CheckedKernels {
    public static func all() -> [any KernelCheck] {
        scale() + motion() + network() + sharpen() + color() + deinterlace() + noise() + fusion() + overlay()
    }
}
