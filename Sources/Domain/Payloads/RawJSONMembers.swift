internal import JSON

// The members of an app's attributes, for the rules about them.

extension RawJSON {
    /// The value of an object's member, as far as the rules for attributes need it.
    enum Member: Equatable {
        case text(String)
        case null
        /// A number, a Boolean, an array or an object.
        case other
    }

    /// An object's members by name, or empty for any other value. It parses the bytes each time, so it is not
    /// for hot paths.
    var members: [String: Member] {
        let valuesByName = try? JSONReader().read(bytes) { value in
            var valuesByName: [String: Member] = [:]
            guard value.kind == .object else { return valuesByName }
            var members = value.object().members
            while let (name, value) = members.next() {
                valuesByName[name] =
                    switch value.kind {
                    case .string: .text(value.string())
                    case .null: .null
                    default: .other
                    }
            }
            return valuesByName
        }
        return valuesByName ?? [:]
    }
}
