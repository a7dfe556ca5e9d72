/// Which run of the machine this is. What was written without sync is whole as long as the run is
/// the same, whatever happened to the process.
package struct BootID: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func current() throws(StoreError) -> BootID {
        let path = "/proc/sys/kernel/random/boot_id"
        guard let bytes = try SmallFile.read(path) else {
            throw .system(action: "read", path: path, reason: "there is no such file; mount /proc")
        }
        return BootID(String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self))
    }
}
