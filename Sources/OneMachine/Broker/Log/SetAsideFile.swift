/// A file that a log no longer reads and that a person may want to look at: segments behind a cut, and
/// segments from before a repair. It stays until a person or the deletion of the topic removes it.
enum SetAsideFile: String, CaseIterable {
    case cut
    case damaged

    static func isSetAside(name: String) -> Bool { allCases.contains { name.hasSuffix("." + $0.rawValue) } }

    /// Returns a name that no earlier file has, so that no file is overwritten.
    func path(for segment: Segment, among names: [String]) -> String {
        let taken = Set(names.map { segment.directory + "/" + $0 })
        var path = segment.path + "." + rawValue
        var number = 2
        while taken.contains(path) {
            path = "\(segment.path).\(number).\(rawValue)"
            number += 1
        }
        return path
    }
}
