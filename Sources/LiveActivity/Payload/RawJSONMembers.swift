internal import JSON

extension RawJSON {
    /// An object's members by name, strings as their text and everything else as nil; empty for what is
    /// no object. Not for hot paths: it reads the value anew.
    var members: [String: String?] {
        let members = try? JSONReader().read(bytes) { value in
            var found: [String: String?] = [:]
            guard value.kind == .object else { return found }
            var members = value.object().members
            while let (name, value) = members.next() {
                found[name] = .some(value.kind == .string ? value.string() : nil)
            }
            return found
        }
        return members ?? [:]
    }
}
