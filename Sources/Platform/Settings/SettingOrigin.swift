/// The source of a setting's value. It shows operators which of the four sources won.
package enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    case builtIn
    case file(_ path: String)
    case environment(_ variable: String)
    case flag(_ name: String)

    package var description: String {
        switch self {
        case .builtIn: "default"
        case .file(let path): "file \(path)"
        case .environment(let name): "environment \(name)"
        case .flag(let flag): "flag \(flag)"
        }
    }
}
