/// Which life of the machine this is. A data directory remembers the last one that opened it: only
/// if the machine went down in between can written pages be missing.
package enum BootID {
    private static let fileName = "boot"

    package static var current: String {
        let disk = Disk()
        guard let file = try? disk.open("/proc/sys/kernel/random/boot_id", writable: false) else { return "" }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = try? unsafe bytes.withMutableBytes { (raw) throws(DiskError) in
            try unsafe disk.read(file, at: 0, into: raw)
        }
        return String(decoding: bytes.prefix(count ?? 0).prefix { $0 > 0x20 }, as: UTF8.self)
    }

    /// Whether this life was noted before. Where the system does not say, it never was.
    static func isNoted(_ current: String, in directory: String, _ disk: Disk) throws(DiskError) -> Bool {
        let known = try disk.contents(of: directory + "/" + fileName)
        return !current.isEmpty && known == Array(current.utf8)
    }

    /// Notes this life. Only for when every log was recovered and synced: a start that is killed before
    /// would leave its successor in the belief that no written page can be missing.
    static func note(_ current: String, in directory: String, _ disk: Disk) throws(DiskError) {
        try disk.replace(directory + "/" + fileName, with: Array(current.utf8))
    }
}
