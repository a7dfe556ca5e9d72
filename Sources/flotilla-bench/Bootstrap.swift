/// The cluster that a run uses in place of a broker of its own.
enum Bootstrap {
    /// Takes `--bootstrap HOST:PORT` out of the arguments; nil when it is not there.
    static func take(from arguments: inout [String]) throws -> [String]? {
        guard let place = arguments.firstIndex(of: "--bootstrap") else { return nil }
        guard place + 1 < arguments.count, arguments[place + 1].contains(":") else {
            throw BenchmarkFailure("--bootstrap needs HOST:PORT, or several with commas between")
        }
        let brokers = arguments[place + 1].split(separator: ",").map(String.init)
        arguments.removeSubrange(place...place + 1)
        return brokers
    }
}
