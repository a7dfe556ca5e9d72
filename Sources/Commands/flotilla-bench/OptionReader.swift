/// A reader of a benchmark's options. An option is a name with a value, such as `--rounds 3`, or a flag without one.
struct OptionReader {
    private var arguments: ArraySlice<String>

    init(_ arguments: [String]) { self.arguments = arguments[...] }

    /// Removes the option `--bootstrap HOST:PORT`, which names a cluster to use instead of a new broker.
    /// Returns the addresses, or nil if the option is missing.
    mutating func removeBrokers() throws -> [String]? {
        guard let index = arguments.firstIndex(of: "--bootstrap") else { return nil }
        let valueIndex = index + 1
        guard valueIndex < arguments.endIndex, arguments[valueIndex].contains(":") else {
            throw BenchmarkFailure("--bootstrap needs HOST:PORT, or several separated by commas")
        }
        let brokers = arguments[valueIndex].split(separator: ",").map(String.init)
        arguments.removeSubrange(index...valueIndex)
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

    /// Returns the next option with its value, a number above 0, or nil after the last option.
    mutating func nextNumberAboveZero() throws -> (name: String, number: Int)? {
        guard let name = nextArgument() else { return nil }
        return (name, try numberAboveZero(of: name))
    }

    /// Returns the next option with its value, a number from 0, or nil after the last option.
    mutating func nextNumber() throws -> (name: String, number: Int)? {
        guard let name = nextArgument() else { return nil }
        guard let number = nextArgument().flatMap({ Int($0) }), number >= 0 else {
            throw BenchmarkFailure("\(name) needs a number")
        }
        return (name, number)
    }

    /// Returns the next name or value, or nil after the last one.
    mutating func nextArgument() -> String? { arguments.popFirst() }

    /// Reads the value of the option whose name was read last.
    mutating func numberAboveZero(of name: String) throws -> Int {
        guard let number = nextArgument().flatMap({ Int($0) }), number > 0 else {
            throw BenchmarkFailure("\(name) needs a number above 0")
        }
        return number
    }
}
