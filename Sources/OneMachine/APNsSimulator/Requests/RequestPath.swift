/// The resource that a path names. Ranges refer to the bytes of the path's source.
enum RequestPath: Equatable {
    /// `/3/device/<token>`, with an empty range if the token is missing.
    case device(Range<Int>)
    /// `/4/broadcasts/apps/<bundle id>`
    case broadcast(Range<Int>)
    /// `/1/apps/<bundle id>/channels`
    case channels(Range<Int>)
    /// `/1/apps/<bundle id>/all-channels`
    case allChannels(Range<Int>)
    case none

    init(_ bytes: [UInt8], range path: Range<Int>) {
        self = RequestPath.parse(bytes.span.extracting(path), at: path.lowerBound)
    }

    var isBroadcast: Bool { if case .broadcast = self { true } else { false } }

    private static func parse(_ path: Span<UInt8>, at start: Int) -> RequestPath {
        if ASCIIText.isEqual(path, to: "/3/device") { return .device(start..<start) }
        if let token = component(of: path, after: "/3/device/", before: "") {
            return .device(start + token.lowerBound..<start + token.upperBound)
        }
        if let app = component(of: path, after: "/4/broadcasts/apps/", before: ""), !app.isEmpty {
            return .broadcast(start + app.lowerBound..<start + app.upperBound)
        }
        if let app = component(of: path, after: "/1/apps/", before: "/channels"), !app.isEmpty {
            return .channels(start + app.lowerBound..<start + app.upperBound)
        }
        if let app = component(of: path, after: "/1/apps/", before: "/all-channels"), !app.isEmpty {
            return .allChannels(start + app.lowerBound..<start + app.upperBound)
        }
        return .none
    }

    /// Returns the part between the prefix and the suffix, if it has no slash.
    private static func component(
        of path: Span<UInt8>, after prefix: StaticString, before suffix: StaticString
    ) -> Range<Int>? {
        let start = prefix.utf8CodeUnitCount
        let end = path.count - suffix.utf8CodeUnitCount
        guard start <= end, ASCIIText.starts(path, with: prefix), ASCIIText.ends(path, with: suffix) else {
            return nil
        }
        return ASCIIText.contains(UInt8(ascii: "/"), in: path.extracting(start..<end)) ? nil : start..<end
    }
}
