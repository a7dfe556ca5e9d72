/// A reader of a benchmark's options. An option is a name with a value, such as `--rounds 3`, or a flag without one.
///
/// First call `remove…` for the flags and the options whose value is no number. Then `next…` returns the others one
/// after the other.
struct OptionReader {
    private var arguments: ArraySlice<String>

    init(_ arguments: [String]) { self.arguments = arguments[...] }

    // MARK: Anywhere among the arguments

    /// Removes the option `--bootstrap HOST:PORT`, which names a cluster to use instead of a new broker.
    /// Returns the addresses, or nil if the option is missing.
    mutating func removeBrokers() throws -> [String]? {
        guard let text = try removeText(named: "--bootstrap") else { return nil }
        let brokers = text.split(separator: ",").map(String.init)
        guard !brokers.isEmpty, brokers.allSatisfy({ $0.contains(":") }) else {
            throw BenchmarkFailure("--bootstrap needs HOST:PORT, or several separated by commas")
        }
        return brokers
    }

    /// Removes an option whose value is a text. Returns the text, or nil if the option is missing.
    mutating func removeText(named name: String) throws -> String? {
        guard let index = arguments.firstIndex(of: name) else { return nil }
        let valueIndex = index + 1
        guard valueIndex < arguments.endIndex else { throw BenchmarkFailure("\(name) needs a value") }
        let value = arguments[valueIndex]
        arguments.removeSubrange(index...valueIndex)
        return value
    }

    /// Removes a flag. Returns whether it was present.
    mutating func removeFlag(named name: String) -> Bool {
        guard let index = arguments.firstIndex(of: name) else { return false }
        arguments.remove(at: index)
        return true
    }

    // MARK: In order

    /// Returns the next option with its value, a number above 0, or nil after the last option.
    mutating func nextNumberAboveZero() throws -> (name: String, number: Int)? {
        guard let name = nextName() else { return nil }
        return (name, try numberAboveZero(of: name))
    }

    /// Returns the next option with its value, a number of 0 or more, or nil after the last option.
    mutating func nextNumber() throws -> (name: String, number: Int)? {
        guard let name = nextName() else { return nil }
        return (name, try number(of: name))
    }

    /// Returns the name of the next option, or nil after the last one. The caller then reads its value.
    mutating func nextName() -> String? { arguments.popFirst() }

    /// Returns the next argument, the value of the option `name`.
    mutating func text(of name: String) throws -> String {
        guard let value = arguments.popFirst() else { throw BenchmarkFailure("\(name) needs a value") }
        return value
    }

    /// Returns the next argument, a number above 0, which is the value of the option `name`.
    mutating func numberAboveZero(of name: String) throws -> Int {
        guard let number = Int(try text(of: name)), number > 0 else {
            throw BenchmarkFailure("\(name) needs a number above 0")
        }
        return number
    }

    /// Returns the next argument, a number of 0 or more, which is the value of the option `name`.
    mutating func number(of name: String) throws -> Int {
        guard let number = Int(try text(of: name)), number >= 0 else {
            throw BenchmarkFailure("\(name) needs a number")
        }
        return number
    }
}
