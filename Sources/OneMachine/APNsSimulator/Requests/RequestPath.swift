/// The resource of APNs that a request's path names. A range is the position of the token or bundle id in the
/// bytes that contain the path.
enum RequestPath: Equatable {
    /// `/3/device/<token>`, with an empty range if the token is missing.
    case device(Range<Int>)
    /// `/4/broadcasts/apps/<bundle id>`
    case broadcast(Range<Int>)
    /// `/1/apps/<bundle id>/channels`
    case channels(Range<Int>)
    /// `/1/apps/<bundle id>/all-channels`
    case allChannels(Range<Int>)
    /// A path that APNs does not have.
    case other

    init(_ bytes: [UInt8], range path: Range<Int>) {
        self = RequestPath.parse(bytes.span.extracting(path), at: path.lowerBound)
    }

    var isBroadcast: Bool { if case .broadcast = self { true } else { false } }

    /// - Parameter start: the position of the path in the bytes that contain it.
    private static func parse(_ path: Span<UInt8>, at start: Int) -> RequestPath {
        if ASCIIText.isEqual(path, to: "/3/device") { return .device(start..<start) }
        if let token = component(of: path, at: start, after: "/3/device/", before: "") {
            return .device(token)
        }
        if let app = component(of: path, at: start, after: "/4/broadcasts/apps/", before: ""), !app.isEmpty {
            return .broadcast(app)
        }
        if let app = component(of: path, at: start, after: "/1/apps/", before: "/channels"), !app.isEmpty {
            return .channels(app)
        }
        if let app = component(of: path, at: start, after: "/1/apps/", before: "/all-channels"),
            !app.isEmpty
        {
            return .allChannels(app)
        }
        return .other
    }

    /// Returns the position of the part between the prefix and the suffix. Returns nil if the path has
    /// another form, or if the part contains a slash.
    private static func component(
        of path: Span<UInt8>, at start: Int, after prefix: StaticString, before suffix: StaticString
    ) -> Range<Int>? {
        let first = prefix.utf8CodeUnitCount
        let end = path.count - suffix.utf8CodeUnitCount
        guard first <= end, ASCIIText.starts(path, with: prefix), ASCIIText.ends(path, with: suffix) else {
            return nil
        }
        if ASCIIText.contains(UInt8(ascii: "/"), in: path.extracting(first..<end)) { return nil }
        return start + first..<start + end
    }
}
