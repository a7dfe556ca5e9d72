/// A segment's file that the log no longer reads and that a person may want to look at. It stays until a
/// person or the deletion of the topic removes it. The case is the end of its name, for example
/// `00000000000000001234.log.cut`.
enum SetAsideFile: String, CaseIterable {
    /// The segment lay behind a cut of the log.
    case cut
    /// A repair has written the segment anew.
    case damaged

    static func isSetAside(name: String) -> Bool { allCases.contains { name.hasSuffix("." + $0.rawValue) } }

    /// Returns a path that is not among the names in the directory, so that no file is overwritten.
    func path(for segment: Segment, among names: [String]) -> String {
        let existingPaths = Set(names.map { segment.directory + "/" + $0 })
        var path = segment.path + "." + rawValue
        var number = 2
        while existingPaths.contains(path) {
            path = "\(segment.path).\(number).\(rawValue)"
            number += 1
        }
        return path
    }
}
