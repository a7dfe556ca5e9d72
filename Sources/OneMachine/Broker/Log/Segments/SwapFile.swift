/// The file of a finished compacted segment that has not replaced its sources yet. Its name contains its
/// range of offsets, for example `1200-5600.swap`, so that a start can finish an interrupted exchange.
enum SwapFile {
    private static let suffix = ".swap"

    static func path(in directory: String, from base: Int64, to end: Int64) -> String {
        "\(directory)/\(base)-\(end)\(suffix)"
    }

    /// Returns the offsets in the name of a file, or nil for another file.
    static func range(ofName name: String) -> Range<Int64>? {
        guard name.hasSuffix(suffix) else { return nil }
        let offsets = name.dropLast(suffix.count).split(separator: "-")
        guard offsets.count == 2, let base = Int64(offsets[0]), let end = Int64(offsets[1]), base < end
        else { return nil }
        return base..<end
    }

    /// Puts the file in the place of the segments with the first offsets `replaced`. It gets the name of the
    /// segment at `base`, which is the first of them. May be repeated after a crash at any step. The old
    /// summary goes first, because it must not be used with the new file.
    static func exchange(
        path: String, directory: String, base: Int64, replaced: [Int64], disk: Disk
    ) throws(DiskError) {
        try disk.removeFile(at: Segment.path(in: directory, from: base, suffix: "index"))
        for other in replaced.reversed() where other != base {
            try disk.removeFile(at: Segment.path(in: directory, from: other, suffix: "index"))
            try disk.removeFile(at: Segment.path(in: directory, from: other, suffix: "log"))
        }
        try disk.rename(path, to: Segment.path(in: directory, from: base, suffix: "log"))
    }
}
