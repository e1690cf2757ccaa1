import Glibc

/// The machine's time of day and its zone.
public enum WallClock {
    /// Reads the zone's rules, so that no file is needed later. Call it before a sandbox, and before a second thread.
    public static func prepare() {
        // Where the variable is not set, the C library looks at the file again and again.
        unsafe setenv("TZ", ":/etc/localtime", 0)
        tzset()
    }
}
