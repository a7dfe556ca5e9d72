// The calls that the insight stage answers.

extension OpenAPI {
    private static func parameter(_ name: String, schema: String) -> String {
        ##"{"name":"\##(name)","in":"query","required":false,"schema":\##(schema)}"##
    }

    private static let nameSchema = ##"{"$ref":"#/components/schemas/name"}"##
    private static let timeSchema = ##"{"type":"integer","minimum":0}"##
    private static let timeRange = [
        parameter("from", schema: timeSchema), parameter("to", schema: timeSchema),
    ]
    private static let byCode = parameter(
        "code", schema: ##"{"enum":["n:lst","n:lut","n:lac","profile","tap"]}"##)
    private static let byType = parameter("type", schema: nameSchema)
    private static let byGroup = parameter("group", schema: nameSchema)

    private static func pageParameters(max: Int = 500) -> [String] {
        [
            parameter("limit", schema: ##"{"type":"integer","minimum":1,"maximum":\##(max),"default":50}"##),
            parameter("cursor", schema: ##"{"type":"string"}"##),
        ]
    }

    private static let idParameter =
        ##"{"name":"id","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}}"##

    /// Returns the member `get` of a path.
    ///
    /// - Parameters:
    ///   - id: The `operationId`.
    ///   - schema: The name of the answer's schema.
    ///   - missing: Whether the call names an object that may not exist.
    ///   - files: The media types in which the caller may request a file instead of JSON.
    private static func get(
        id: String, summary: String, parameters: [String], schema: String, missing: Bool = false,
        files: [String] = []
    ) -> String {
        ##"""
        "get":{
          "operationId":"\##(id)",
          "summary":"\##(summary)",
          "description":"Role read. Answered by the insight stage. 503 insight_away if no process of it answers, insight_partial while no process answers for the lanes that may have the result.",
          "security":[{"bearer":[]}],
          "parameters":[\##(parameters.joined(separator: ","))],
          "responses":{
            \##(response(200, schema: schema, meaning: "The state as of asOf, without the lanes in partial.", files: files)),
            \##(refusals(missing: missing))
          }
        }
        """##
    }

    /// The list of sends, whose path `OpenAPI+Sends` has.
    static let listSends = get(
        id: "listSends", summary: "Sends and their outcomes, the newest first; at most 7 days.",
        parameters: [byGroup] + timeRange + pageParameters(), schema: "sendList")
    /// The state of a user, whose path `OpenAPI+Others` has.
    static let getUser = get(
        id: "user", summary: "The known state of a user's phones, and the reason for their display.",
        parameters: [idParameter], schema: "user", missing: true)

    private static let listGroups = get(
        id: "listGroups", summary: "The current groups, those with the newest send first.",
        parameters: [parameter("state", schema: ##"{"enum":["live","ended","all"]}"##)] + pageParameters(),
        schema: "groupList")
    private static let showGroup = get(
        id: "group",
        summary: "One group: its newest state, its running activities, and its versions.",
        parameters: [idParameter, parameter("user", schema: nameSchema)], schema: "group", missing: true)
    private static let showTimeline = get(
        id: "groupTimeline", summary: "All versions of a group and their outcomes.",
        parameters: [idParameter] + pageParameters(), schema: "timeline", missing: true)
    private static let showInstallation = get(
        id: "installation",
        summary: "The known state of one phone, and the reason for its display.",
        parameters: [idParameter], schema: "installation", missing: true)
    private static let listEvents = get(
        id: "listEvents",
        summary:
            "Events that phones reported, by time; at most 31 days. With format csv or jsonl the answer is a file, and the header Next-Cursor has the next cursor.",
        parameters: [
            parameter("user", schema: nameSchema), parameter("installation", schema: nameSchema), byGroup,
            byCode, byType,
        ] + timeRange + [
            parameter("order", schema: ##"{"enum":["newest","oldest"]}"##),
            parameter("format", schema: ##"{"enum":["json","csv","jsonl"]}"##),
        ] + pageParameters(max: 5000),
        schema: "eventList", files: ["text/csv", "application/x-ndjson"])
    private static let countEvents = get(
        id: "countEvents", summary: "Counts of events by hour or by day; at most 31 days.",
        parameters: [byCode, byType, byGroup] + timeRange + [
            parameter("by", schema: ##"{"enum":["hour","day"]}"##),
            parameter(
                "split",
                schema:
                    ##"{"type":"string","description":"Any of code, type and group, separated by commas."}"##),
        ],
        schema: "eventCounts")
    private static let showFleet = get(
        id: "fleet", summary: "The lag of the topics' readers, and the processes that answer for each lane.",
        parameters: [], schema: "fleet")
    private static let listAudit = get(
        id: "audit", summary: "Changes and their authors, the newest first; at most 400 days.",
        parameters: timeRange + pageParameters(), schema: "auditList")

    static let insightPaths = ##"""
        "/v1/groups":{\##(listGroups)},
        "/v1/groups/{id}":{\##(showGroup)},
        "/v1/groups/{id}/timeline":{\##(showTimeline)},
        "/v1/installations/{id}":{\##(showInstallation)},
        "/v1/events":{\##(listEvents)},
        "/v1/events/counts":{\##(countEvents)},
        "/v1/fleet":{\##(showFleet)},
        "/v1/audit":{\##(listAudit)}
        """##

    private static let asOfProperties =
        ##"""
        "asOf":{
          "type":"integer",
          "description":"The time up to which the topics are read, in milliseconds since 1970."
        },
        "partial":{
          "type":"object",
          "required":["lanes"],
          "properties":{"lanes":{
            "type":"array",
            "items":{"type":"integer"},
            "description":"The lanes that did not answer. The figures exclude them."
          }}
        }
        """##
    private static let cursorProperty =
        ##""next":{"type":"string","description":"The cursor of the next page; omitted on the last page."}"##
    private static func array(of: String) -> String {
        ##"{"type":"array","items":{"$ref":"#/components/schemas/\##(of)"}}"##
    }

    static let insightSchemas = ##"""
        "report":{
          "type":"object",
          "properties":{
            "pushed":{"type":"integer","description":"The sum of accepted, rejected and unknown."},
            "accepted":{
              "type":"integer",
              "description":"APNs accepted the push. This does not prove that the phone shows it."
            },
            "superseded":{"type":"integer"},
            "expired":{"type":"integer"},
            "unknown":{"type":"integer"},
            "rejected":{"type":"integer"},
            "rejectedBy":{"type":"object","additionalProperties":{"type":"integer"}},
            "toGo":{"type":"integer"},
            "opened":{"type":"integer","description":"Taps on the group's activities until its next send."},
            "latencyMilliseconds":{
              "type":"object",
              "properties":{
                "p50":{"type":"integer"},
                "p90":{"type":"integer"},
                "p99":{"type":"integer"},
                "max":{"type":"integer"}
              }
            },
            "environments":{"type":"object"},
            "systems":{
              "type":"object",
              "additionalProperties":{"type":"integer"},
              "description":"Jobs by the major version of the phone's iOS."
            },
            "bySystem":{
              "type":"object",
              "additionalProperties":{"type":"object","additionalProperties":{"type":"integer"}},
              "description":"Outcomes by the major version of the phone's iOS."
            },
            \##(asOfProperties)
          }
        },
        "sendLine":{
          "type":"object",
          "required":[
            "sendId","verdict","isComplete","acceptedAt","at","targeted","expanded","dropped","excluded",
            "report"
          ],
          "properties":{
            "sendId":{"type":"string"},
            "groupId":{"type":"string"},
            "userId":{"type":"string"},
            "event":{"enum":["start","update","end"]},
            "verdict":{"type":"string"},
            "isComplete":{"type":"boolean"},
            "dryRun":{"const":true},
            "version":{"type":"integer"},
            "generation":{"type":"integer"},
            "acceptedAt":{"type":"integer"},
            "at":{"type":"integer"},
            "targeted":{"type":"integer"},
            "expanded":{"type":"integer"},
            "dropped":{"type":"integer"},
            "excluded":{"type":"object","additionalProperties":{"type":"integer"}},
            "report":{"$ref":"#/components/schemas/report"}
          }
        },
        "sendList":{
          "type":"object",
          "required":["sends"],
          "properties":{"sends":\##(array(of: "sendLine")),\##(cursorProperty),\##(asOfProperties)}
        },
        "timeline":{
          "type":"object",
          "required":["groupId","versions"],
          "properties":{
            "groupId":{"type":"string"},
            "versions":\##(array(of: "sendLine")),
            \##(cursorProperty),
            \##(asOfProperties)
          }
        },
        "group":{
          "type":"object",
          "required":["groupId","state","version","generation","updates","lastAt","running","onNewest"],
          "properties":{
            "groupId":{"type":"string"},
            "userId":{"type":"string"},
            "state":{"enum":["live","ended"]},
            "attributesType":{"type":"string"},
            "version":{"type":"integer"},
            "generation":{"type":"integer"},
            "updates":{"type":"integer"},
            "startedAt":{"type":"integer"},
            "endedAt":{"type":"integer"},
            "endDate":{"type":"integer"},
            "lastAt":{"type":"integer"},
            "waitingSendId":{"type":"string"},
            "newest":{"type":"object"},
            "running":{"type":"integer"},
            "onNewest":{"type":"integer"},
            "share":{"type":"number"},
            "versions":\##(array(of: "sendLine")),
            \##(asOfProperties)
          }
        },
        "groupList":{
          "type":"object",
          "required":["groups"],
          "properties":{"groups":\##(array(of: "group")),\##(cursorProperty),\##(asOfProperties)}
        },
        "why":{
          "type":"object",
          "required":["code","sentence"],
          "properties":{
            "code":{"type":"string"},
            "sentence":{"type":"string"},
            "installationId":{"type":"string"},
            "groupId":{"type":"string"},
            "activityId":{"type":"string"},
            "at":{"type":"integer"}
          }
        },
        "push":{
          "type":"object",
          "properties":{
            "at":{"type":"integer"},
            "acceptedAt":{"type":"integer"},
            "sendId":{"type":"string"},
            "groupId":{"type":"string"},
            "version":{"type":"integer"},
            "event":{"enum":["start","update","end"]},
            "environment":{"type":"string"},
            "installationId":{"type":"string"},
            "entry":{"type":"string"},
            "attempt":{"type":"integer"},
            "outcome":{"type":"string"},
            "status":{"type":"integer"},
            "reason":{"type":"string"},
            "dueAt":{"type":"integer","description":"The time of the next attempt of a waiting job."}
          }
        },
        "event":{
          "type":"object",
          "required":["at","receivedAt","code"],
          "properties":{
            "at":{"type":"integer"},
            "receivedAt":{"type":"integer"},
            "code":{"type":"string"},
            "installationId":{"type":"string"},
            "userId":{"type":"string"},
            "attributesType":{"type":"string"},
            "activityId":{"type":"string"},
            "groupId":{"type":"string"},
            "token":{"type":"string","description":"tok: and 8 digits of the token's hash."},
            "cause":{"type":"string"},
            "environment":{"type":"string"},
            "scheduleId":{"type":"string"},
            "scheduleName":{"type":"string"}
          }
        },
        "installation":{
          "type":"object",
          "required":["installationId","startTokens","activities","why"],
          "properties":{
            "installationId":{"type":"string"},
            "userId":{"type":"string"},
            "environment":{"type":"string"},
            "os":{"type":"string"},
            "appBuild":{"type":"string"},
            "locale":{"type":"string"},
            "timeZone":{"type":"string"},
            "tags":{"type":"array","items":{"type":"string"}},
            "attributes":{"type":"object"},
            "activitiesEnabled":{"type":"boolean"},
            "frequentPushesEnabled":{"type":"boolean"},
            "heardAt":{"type":"integer"},
            "startTokens":{"type":"array","items":{"type":"object"}},
            "activities":{"type":"array","items":{"type":"object"}},
            "why":{"$ref":"#/components/schemas/why"},
            "pushes":\##(array(of: "push")),
            "events":\##(array(of: "event")),
            \##(asOfProperties)
          }
        },
        "user":{
          "type":"object",
          "required":["userId","installations","pushes","events","schedules","why"],
          "properties":{
            "userId":{"type":"string"},
            "tags":{"type":"array","items":{"type":"string"}},
            "attributes":{"type":"object"},
            "installations":\##(array(of: "installation")),
            "pushes":\##(array(of: "push")),
            "events":\##(array(of: "event")),
            "schedules":{"type":"array","items":{"type":"object"}},
            "why":{"$ref":"#/components/schemas/why"},
            \##(asOfProperties)
          }
        },
        "eventList":{
          "type":"object",
          "required":["events"],
          "properties":{"events":\##(array(of: "event")),\##(cursorProperty),\##(asOfProperties)}
        },
        "eventCounts":{
          "type":"object",
          "required":["by","from","to","buckets","totals"],
          "properties":{
            "by":{"enum":["hour","day"]},
            "from":{"type":"integer"},
            "to":{"type":"integer"},
            "buckets":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["at","count"],
                "properties":{
                  "at":{"type":"integer"},
                  "code":{"type":"string"},
                  "type":{"type":"string"},
                  "group":{"type":"string"},
                  "count":{"type":"integer"}
                }
              }
            },
            "totals":{"type":"object","additionalProperties":{"type":"integer"}},
            \##(asOfProperties)
          }
        },
        "fleet":{
          "type":"object",
          "required":["lag","members","processes","openBreakers","differences","lanes"],
          "properties":{
            "lag":{
              "type":"array",
              "items":{
                "type":"object",
                "properties":{
                  "stage":{"type":"string"},
                  "topic":{"type":"string"},
                  "records":{"type":"integer"},
                  "partitions":{"type":"integer"},
                  "oldestAt":{"type":"integer"}
                }
              }
            },
            "lagUnknown":{"const":true},
            "members":{"type":"array","items":{"type":"object"}},
            "processes":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["process","version","stages","startedAt","heardAt"],
                "properties":{
                  "process":{"type":"string"},
                  "version":{"type":"string"},
                  "stages":{"type":"array","items":{"type":"string"}},
                  "suspectTokens":{"type":"integer","description":"Tokens whose last push failed."},
                  "startedAt":{"type":"integer"},
                  "heardAt":{"type":"integer"}
                }
              }
            },
            "openBreakers":{
              "type":"array",
              "description":"Processes that pause pushes of the key's app because a setting of the app is wrong.",
              "items":{
                "type":"object",
                "properties":{"process":{"type":"string"},"environment":{"type":"string"}}
              }
            },
            "differences":{
              "type":"array",
              "description":"Settings that differ between processes.",
              "items":{
                "type":"object",
                "properties":{
                  "key":{"type":"string"},
                  "values":{
                    "type":"array",
                    "items":{
                      "type":"object",
                      "properties":{
                        "value":{"type":"string"},
                        "processes":{"type":"array","items":{"type":"string"}}
                      }
                    }
                  }
                }
              }
            },
            "lanes":{"type":"object"},
            \##(asOfProperties)
          }
        },
        "auditList":{
          "type":"object",
          "required":["entries"],
          "properties":{
            "entries":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["at","by","action"],
                "properties":{
                  "at":{"type":"integer"},
                  "by":{"type":"string"},
                  "action":{"type":"string"},
                  "subject":{"type":"string"},
                  "address":{"type":"string"}
                }
              }
            },
            \##(cursorProperty),
            \##(asOfProperties)
          }
        }
        """##
}
