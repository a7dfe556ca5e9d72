// The schemas of the answers of the insight stage.

extension OpenAPI {
    /// The members of most answers: the time up to which the answer counts, and the lanes that it lacks.
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
    /// The members about the content, the audience and the author of a send.
    static let outlineProperties =
        ##"""
        "event":{"enum":["start","update","end"]},
        "contentState":{"type":"object","description":"Omitted if it has more than 512 bytes."},
        "attributes":{"type":"object","description":"The attributes of a start. Omitted if they have more than 512 bytes."},
        "audience":{
          "type":"object",
          "required":["kind"],
          "properties":{
            "kind":{"enum":["everyone","segments","tags","combination","group","users","activities"]},
            "names":{"type":"array","items":{"type":"string"},"description":"The first three names."},
            "count":{"type":"integer"}
          }
        },
        "author":{"type":"string","description":"The id of the API key, or the name of the operator."}
        """##
    /// Returns the schema of an array whose elements have this schema.
    private static func array(of schema: String) -> String {
        ##"{"type":"array","items":{"$ref":"#/components/schemas/\##(schema)"}}"##
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
            "sentAgain":{
              "type":"array",
              "items":{"type":"object","required":["sendId"],"additionalProperties":{"type":["string","integer"]}},
              "description":"The outcomes of failed jobs that `flotilla replay resend` pushed again, one entry for each call."
            },
            "waitingForAllow":{"type":"integer","description":"For a start of a live group: phones on which APNs accepted it and which report no running activity."},
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
            \##(outlineProperties),
            "requestId":{"type":"string","description":"The X-Request-Id of the request."},
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
            "lanesPartlyVisited":{"type":"integer"},
            "excluded":{"type":"object","additionalProperties":{"type":"integer"}},
            "report":{"$ref":"#/components/schemas/report"}
          }
        },
        "sendList":{
          "type":"object",
          "required":["items"],
          "properties":{"items":\##(array(of: "sendLine")),\##(cursorProperty),\##(asOfProperties)}
        },
        "failureList":{
          "type":"object",
          "required":["items"],
          "properties":{
            "items":\##(array(of: "push")),
            \##(cursorProperty),
            \##(asOfProperties)
          }
        },
        "series":{
          "type":"object",
          "required":["range","from","to","periodMilliseconds","items","freshnessMilliseconds","freshness","failuresOfLastHour","behind"],
          "properties":{
            "range":{"enum":["15m","24h"]},
            "from":{"type":"integer"},
            "to":{"type":"integer"},
            "periodMilliseconds":{"type":"integer"},
            "items":{
              "type":"array",
              "description":"The periods with pushes: outcomes, and the times from acceptance to APNs' answer in milliseconds.",
              "items":{
                "type":"object",
                "required":["at"],
                "properties":{
                  "at":{"type":"integer"},
                  "accepted":{"type":"integer"},
                  "rejected":{"type":"integer"},
                  "superseded":{"type":"integer"},
                  "expired":{"type":"integer"},
                  "unknown":{"type":"integer"},
                  "p50":{"type":"integer"},
                  "p99":{"type":"integer"}
                }
              }
            },
            "freshnessMilliseconds":{"type":"integer"},
            "freshness":{
              "type":"array",
              "description":"The share of running activities with the newest state, by the samples of all insight processes that answer.",
              "items":{
                "type":"object",
                "required":["at"],
                "properties":{"at":{"type":"integer"},"share":{"type":"number"}}
              }
            },
            "failuresOfLastHour":{"type":"object","additionalProperties":{"type":"integer"}},
            "behind":{
              "type":"array",
              "description":"Groups of which many phones do not have the newest state.",
              "items":{
                "type":"object",
                "required":["groupId","since"],
                "properties":{"groupId":{"type":"string"},"since":{"type":"integer"}}
              }
            },
            \##(asOfProperties)
          }
        },
        "timeline":{
          "type":"object",
          "required":["groupId","items"],
          "properties":{
            "groupId":{"type":"string"},
            "items":\##(array(of: "sendLine")),
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
          "required":["items"],
          "properties":{"items":\##(array(of: "group")),\##(cursorProperty),\##(asOfProperties)}
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
            "userId":{"type":"string","description":"In a list of failures."},
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
            "sendId":{"type":"string"},
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
          "required":["items"],
          "properties":{"items":\##(array(of: "event")),\##(cursorProperty),\##(asOfProperties)}
        },
        "userList":{
          "type":"object",
          "required":["items"],
          "properties":{
            "items":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["userId","installations","hasProfile"],
                "properties":{
                  "userId":{"type":"string"},
                  "installations":{"type":"integer","description":"The number of the user's phones."},
                  "hasProfile":{"type":"boolean","description":"Whether a backend has set tags or attributes."},
                  "heardAt":{"type":"integer","description":"The time of the newest report of these phones."}
                }
              }
            },
            \##(cursorProperty),
            \##(asOfProperties)
          }
        },
        "installationList":{
          "type":"object",
          "required":["items"],
          "properties":{
            "items":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["installationId","startTokens","runningActivities"],
                "properties":{
                  "installationId":{"type":"string"},
                  "userId":{"type":"string"},
                  "environment":{"enum":["production","sandbox"]},
                  "os":{"type":"string"},
                  "appBuild":{"type":"string"},
                  "startTokens":{"type":"integer","description":"The number of its start tokens."},
                  "runningActivities":{"type":"integer"},
                  "heardAt":{"type":"integer"}
                }
              }
            },
            \##(cursorProperty),
            \##(asOfProperties)
          }
        },
        "eventCounts":{
          "type":"object",
          "required":["by","from","to","buckets","totals"],
          "properties":{
            \##(cursorProperty),
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
                  "user":{"type":"string"},
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
          "required":["openBreakers","lanes"],
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
          "required":["items"],
          "properties":{
            "items":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["at","by","action"],
                "properties":{
                  "at":{"type":"integer"},
                  "by":{"type":"string"},
                  "action":{"type":"string"},
                  "subject":{"type":"string"},
                  "address":{"type":"string"},
                  "requestId":{"type":"string","description":"The X-Request-Id of the request."}
                }
              }
            },
            \##(cursorProperty),
            \##(asOfProperties)
          }
        }
        """##
}
