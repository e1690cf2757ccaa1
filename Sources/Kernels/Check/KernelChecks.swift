/// Every check there is; a family adds its own list here.
public enum KernelChecks {
    public static func all() -> [any KernelCheck] {
        scale() + motion() + network() + sharpen()
    }
}
