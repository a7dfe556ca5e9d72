internal import LiveActivity

// The test of one person. Two profiles count: the profile of the installation, and the profile that the
// backend set for all installations of the user. Attributes and fields of the installation have priority.
// Tags of both are joined.

extension SegmentProgram {
    /// Returns whether the rule matches.
    ///
    /// - Parameters:
    ///   - user: The backend's profile of the user, or empty.
    ///   - installation: The profile of the installation, or empty.
    ///   - os: The version in the token's row, for a phone without a profile.
    func matches(user: Span<UInt8>, installation: Span<UInt8>, os: OSVersion?) -> Bool {
        nodes.isEmpty || matches(0, user: user, installation: installation, os: os)
    }

    private func matches(
        _ index: Int, user: Span<UInt8>, installation: Span<UInt8>, os: OSVersion?
    ) -> Bool {
        let node = nodes[index]
        switch node.operation {
        case .and, .or:
            let isOr = if case .or = node.operation { true } else { false }
            var child = index + 1
            while child < node.end {
                if matches(child, user: user, installation: installation, os: os) == isOr { return isOr }
                child = nodes[child].end
            }
            return !isOr
        case .not: return !matches(index + 1, user: user, installation: installation, os: os)
        case .tag:
            let tag = constants.span.extracting(node.text)
            return !installation.isEmpty && ProfileValue.hasTag(tag, in: installation)
                || !user.isEmpty && ProfileValue.hasTag(tag, in: user)
        case .text, .integer, .number, .boolean: return false
        case .exists, .isIn, .compares:
            guard let field = node.field else {
                return matchesAttribute(index, user: user, installation: installation)
            }
            return matches(index, field: field, user: user, installation: installation, os: os)
        }
    }

    private func matchesAttribute(
        _ index: Int, user: Span<UInt8>, installation: Span<UInt8>
    ) -> Bool {
        let name = constants.span.extracting(nodes[index].text)
        if !installation.isEmpty, let offset = ProfileValue.attributeOffset(of: name, in: installation) {
            return test(index, profile: installation, at: offset)
        }
        if !user.isEmpty, let offset = ProfileValue.attributeOffset(of: name, in: user) {
            return test(index, profile: user, at: offset)
        }
        return matchesMissingValue(index)
    }

    private func matchesMissingValue(_ index: Int) -> Bool {
        if case .exists = nodes[index].operation { nodes[index].bits == 0 } else { false }
    }

    private func test(_ index: Int, profile: Span<UInt8>, at offset: Int) -> Bool {
        test(index) { value in order(of: profile, at: offset, to: nodes[value]) }
    }

    /// Applies a test. `order` returns the order between the profile's value and a value of the test, or nil
    /// if they cannot be compared.
    private func test(_ index: Int, order: (Int) -> Int?) -> Bool {
        let node = nodes[index]
        switch node.operation {
        case .exists: return node.bits == 1
        case .isIn:
            for value in index + 1..<node.end where order(value) == 0 { return true }
            return false
        case .compares(let comparison):
            guard let order = order(index + 1) else { return false }
            switch comparison {
            case .above: return order > 0
            case .atLeast: return order >= 0
            case .below: return order < 0
            case .atMost: return order <= 0
            }
        default: return false
        }
    }

    private func order(of profile: Span<UInt8>, at start: Int, to value: Node) -> Int? {
        var offset = start + 1
        switch (profile[start], value.operation) {
        case (ProfileValue.ValueKind.no, .boolean): return value.bits == 0 ? 0 : nil
        case (ProfileValue.ValueKind.yes, .boolean): return value.bits == 1 ? 0 : nil
        case (ProfileValue.ValueKind.text, .text):
            return profile.bytes(at: &offset).order(to: constants.span.extracting(value.text))
        case (ProfileValue.ValueKind.integer, .integer):
            return Self.compare(profile.number(at: offset, bytes: 8), with: value.bits)
        case (ProfileValue.ValueKind.integer, .number):
            return Self.compare(profile.number(at: offset, bytes: 8), with: value.double)
        case (ProfileValue.ValueKind.number, .integer):
            return Self.compare(value.bits, with: Self.double(in: profile, at: offset)).map { -$0 }
        case (ProfileValue.ValueKind.number, .number):
            return Self.compare(Self.double(in: profile, at: offset), with: value.double)
        default: return nil
        }
    }

    private static func double(in profile: Span<UInt8>, at offset: Int) -> Double {
        Double(bitPattern: UInt64(bitPattern: profile.number(at: offset, bytes: 8)))
    }

    private static func compare<N: Comparable>(_ a: N, with b: N) -> Int? { a < b ? -1 : a > b ? 1 : 0 }

    /// Compares exactly, without rounding a large integer.
    static func compare(_ a: Int64, with b: Double) -> Int? {
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let whole = b.rounded(.down)
        let order = compare(a, with: Int64(whole))
        return order == 0 && whole < b ? -1 : order
    }

    private func matches(
        _ index: Int, field: SegmentRule.Field, user: Span<UInt8>, installation: Span<UInt8>,
        os: OSVersion?
    ) -> Bool {
        if !installation.isEmpty, let text = ProfileValue.text(of: field.text, in: installation) {
            return test(index, of: field, text: text)
        }
        if !user.isEmpty, let text = ProfileValue.text(of: field.text, in: user) {
            return test(index, of: field, text: text)
        }
        guard field == .os, let os else { return matchesMissingValue(index) }
        return test(index) { value in
            VersionText.order(
                of: [os.major, os.minor, os.patch], to: constants.span.extracting(nodes[value].text))
        }
    }

    private func test(_ index: Int, of field: SegmentRule.Field, text: Span<UInt8>) -> Bool {
        test(index) { value in
            let wanted = constants.span.extracting(nodes[value].text)
            return field.isVersion ? VersionText.order(of: text, to: wanted) : text.order(to: wanted)
        }
    }
}

extension SegmentProgram.Node {
    fileprivate var double: Double { Double(bitPattern: UInt64(bitPattern: bits)) }
}

extension SegmentRule.Field {
    fileprivate var text: ProfileValue.TextField {
        switch self {
        case .os: .os
        case .appBuild: .appBuild
        case .locale: .locale
        case .timeZone: .timeZone
        }
    }
}
