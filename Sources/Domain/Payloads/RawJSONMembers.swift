internal import JSON

extension RawJSON {
    enum Member: Equatable {
        case text(String)
        case null
        case other
    }

    /// An object's members by name, or empty for any other value. It parses the bytes each time, so it is not
    /// for hot paths.
    var members: [String: Member] {
        let members = try? JSONReader().read(bytes) { value in
            var found: [String: Member] = [:]
            guard value.kind == .object else { return found }
            var members = value.object().members
            while let (name, value) = members.next() {
                found[name] =
                    switch value.kind {
                    case .string: .text(value.string())
                    case .null: .null
                    default: .other
                    }
            }
            return found
        }
        return members ?? [:]
    }
}
