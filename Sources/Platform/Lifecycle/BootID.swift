internal import CLinux
internal import Glibc

/// The id of the machine's current boot. Data that was written without sync is intact as long as the boot is
/// the same, even if the process died.
package struct BootID: Sendable, Hashable {
    private static let path = "/proc/sys/kernel/random/boot_id"
    private static let bytesMax = 64

    package let text: String

    package init(_ text: String) { self.text = text }

    package static func current() throws(SystemError) -> BootID {
        let descriptor = unsafe linux_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { throw unreadable() }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: bytesMax)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress!, $0.count) }
        guard count >= 0 else { throw unreadable() }
        return BootID(String(decoding: bytes.prefix(count).prefix { $0 > 0x20 }, as: UTF8.self))
    }

    private static func unreadable() -> SystemError {
        SystemError(action: "read \(path)", code: errno, remedy: "mount /proc")
    }
}
