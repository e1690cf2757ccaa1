import Foundation
import Media
import Testing

@testable import Machine

@Suite struct ProcessorLimitTests {
    @Test func aLimitIsReadAsCores() {
        #expect(ControlGroups.quota(max: "150000 100000\n") == 1.5)
        #expect(ControlGroups.quota(max: "5000 100000\n") == 0.05)
        #expect(ControlGroups.quota(max: "max 100000\n") == nil)
        for text in ["", "\n", "150000", "150000 0", "0 100000", "-1 100000", "1 2 3", "a b"] {
            #expect(ControlGroups.quota(max: text) == nil, "\(text)")
        }
        #expect(ControlGroups.quota(time: "50000\n", period: "20000\n") == 2.5)
        #expect(ControlGroups.quota(time: "-1\n", period: "100000\n") == nil)
    }

    @Test func aSystemdUnitIsLimitedByTheTightestGroupAboveIt() {
        let groups = ControlGroups(
            groups: "0::/system.slice/burnish.service\n",
            mounts: """
                22 1 252:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
                31 22 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate

                """)
        #expect(
            groups.unified == [
                "/sys/fs/cgroup/system.slice/burnish.service", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup",
            ])
        #expect(groups.legacy.isEmpty)
        var files = [
            "/sys/fs/cgroup/system.slice/burnish.service/cpu.max": "400000 100000\n",
            "/sys/fs/cgroup/system.slice/cpu.max": "max 100000\n",
        ]
        #expect(groups.quota { files[$0] } == 4)
        files["/sys/fs/cgroup/system.slice/cpu.max"] = "250000 100000\n"
        #expect(groups.quota { files[$0] } == 2.5)
        #expect(groups.quota { _ in nil } == nil)
    }

    /// With a control group namespace, a container sees its own group as the root.
    @Test func aContainerWithVersion2SeesItsOwnGroup() {
        let groups = ControlGroups(
            groups: "0::/\n", mounts: "707 706 0:27 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n")
        #expect(groups.unified == ["/sys/fs/cgroup"])
        #expect(groups.quota { ["/sys/fs/cgroup/cpu.max": "50000 100000"][$0] } == 0.5)
    }

    /// Without one, the paths are the host's, and the mount shows the container's part of them.
    @Test func aContainerWithVersion1IsFoundThroughItsMount() {
        let groups = ControlGroups(
            groups: """
                11:memory:/docker/1f2e
                4:cpu,cpuacct:/docker/1f2e/inner
                2:cpuset:/docker/1f2e
                1:name=systemd:/docker/1f2e
                0::/docker/1f2e

                """,
            mounts: """
                640 639 0:32 /docker/1f2e /sys/fs/cgroup/cpuset ro,nosuid master:14 - cgroup cgroup rw,cpuset
                641 639 0:33 /docker/1f2e /sys/fs/cgroup/cpu,cpuacct ro master:15 - cgroup cgroup rw,cpu,cpuacct

                """)
        #expect(groups.legacy == ["/sys/fs/cgroup/cpu,cpuacct/inner", "/sys/fs/cgroup/cpu,cpuacct"])
        #expect(groups.unified.isEmpty)
        let files = [
            "/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us": "-1\n",
            "/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us": "100000\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
            "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "50000\n",
        ]
        #expect(groups.quota { files[$0] } == 3)
    }

    @Test func bothVersionsSideBySideCountTogether() {
        let groups = ControlGroups(
            groups: "1:cpu:/a\n0::/b\n",
            mounts: """
                32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
                41 31 0:38 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup2 rw

                """)
        let files = [
            "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "300000", "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000",
            "/sys/fs/cgroup/uni fied/b/cpu.max": "200000 100000",
        ]
        #expect(groups.quota { files[$0] } == 2)
    }

    @Test func aGroupOutsideOfWhatIsMountedIsNotLookedFor() {
        let mounts = "31 22 0:28 /lxc/a /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
        #expect(ControlGroups(groups: "0::/lxc/ab\n", mounts: mounts).unified == ["/sys/fs/cgroup"])
        #expect(ControlGroups(groups: "0::/../b\n", mounts: mounts).unified == ["/sys/fs/cgroup"])
        #expect(ControlGroups(groups: "", mounts: mounts).unified.isEmpty)
        #expect(ControlGroups(groups: "0::/a\n", mounts: "nonsense\n31 22 0:28 / -\n").unified.isEmpty)
    }

    /// Of another thread, so that this one keeps its processors.
    @Test func processorsThatAThreadMayNotUseDoNotCount() throws {
        let all = try #require(ProcessorLimit.allowedProcessors())
        #expect(all == ProcessorLimit.current.numbers && all.count == ProcessorLimit.current.processors)
        #expect(all == all.sorted())
        for number in [all.first!, all.last!] {
            let found = Lock<[Int]?>(nil)
            let end = DispatchSemaphore(value: 0)
            Thread {
                let thread = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
                let process = Process()
                process.executableURL = URL(filePath: "/usr/bin/taskset")
                process.arguments = ["-pc", String(number), String(thread.split(separator: "/").last ?? "")]
                process.standardOutput = FileHandle.nullDevice
                if (try? process.run()) != nil {
                    process.waitUntilExit()
                    found.withLock { $0 = ProcessorLimit.allowedProcessors() }
                }
                end.signal()
            }
            .start()
            end.wait()
            #expect(found.withLock { $0 } == [number])
        }
    }

    @Test func aStartedCoreCounts() {
        func cores(_ processors: Int, _ quota: Double?) -> (Int, Double) {
            let limit = ProcessorLimit(processors: processors, quota: quota)
            return (limit.cores, limit.share)
        }
        #expect(cores(8, nil) == (8, 8) && cores(8, 1.5) == (2, 1.5) && cores(8, 0.2) == (1, 0.2))
        #expect(cores(2, 16) == (2, 2) && cores(1, 1e300) == (1, 1))
        let here = ProcessorLimit.current
        #expect(here.cores >= 1 && here.cores <= here.processors && here.share > 0)
    }
}
