/// The id of the machine's current boot. Data that was written without sync is intact as long as the boot is
/// the same, even if the process died.
package struct BootID: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func current() throws(StoreError) -> BootID {
        let path = "/proc/sys/kernel/random/boot_id"
        guard let bytes = try SmallFile.read(at: path) else {
            throw .system(action: "read", path: path, reason: "the file does not exist; mount /proc")
        }
        return BootID(String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self))
    }
}
